import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { api, dataOf, type Schemas } from '../api/client';
import { Badge } from '../components/badge';
import { failureText } from '../components/failure-text';
import { Shown } from '../components/states';
import { Time } from '../components/time';
import { notifiedText } from './words';

type Event = Schemas['NotificationModel'];

const MOST = 200;

/** Shows all notifications about the same booking or record to this partner, in the order of their events. */
export function BookingTimeline({ notification }: { notification: Schemas['NotificationDetail'] }) {
  const { id, subscription_id: subscription, account_code: account } = notification;
  const booking = notification.booking_code ?? notification.svc_eligiblity_id ?? undefined;
  const events = useQuery({
    queryKey: ['notifications', 'booking', account, subscription, booking],
    queryFn: ({ signal }) =>
      dataOf(
        api.GET('/admin/notifications', {
          params: {
            query: { booking_code: booking, subscription_id: subscription, account_code: account, limit: MOST },
          },
          signal,
        }),
      ),
  });
  return (
    <Shown query={events}>
      {(found) => (
        <ol className="timeline">
          {found
            .toSorted((one, other) => one.event_sequence - other.event_sequence)
            .map((event) => (
              <li key={event.id} aria-current={event.id === id ? 'true' : undefined} data-state={event.state}>
                <span className="sequence">{event.event_sequence}</span>
                {event.id === id ? (
                  <strong>{notifiedText(event.change_reason)}</strong>
                ) : (
                  <Link to="/notifications/$id" params={{ id: event.id }}>
                    {notifiedText(event.change_reason)}
                  </Link>
                )}
                <Moved event={event} />
                <Badge state={event.state} />
                {event.failure && <span className="hint">{failureText(event.failure)}</span>}
                <Time at={event.effective_date} />
              </li>
            ))}
        </ol>
      )}
    </Shown>
  );
}

/** Shows the new start of a moved exam, and the start that the partner's previous notification stated. */
function Moved({ event }: { event: Event }) {
  const { previous_booking_on: from, booking_on: to, location_timezone: zone } = event;
  if (from === null) return null;
  return (
    <span>
      from <Time at={from} short zone={zone} /> to <Time at={to} short zone={zone} />
    </span>
  );
}
