import { Link, useSearch } from '@tanstack/react-router';
import { api, pageOf, type Schemas } from '../api/client';
import { Filters, type Filter } from '../components/filters';
import { List } from '../components/list';
import { Page } from '../components/page';
import type { Column } from '../components/table';
import { CandidateName } from '../notification/candidate-name';
import { NOTIFICATION_COLUMNS } from '../notification/columns';
import { notificationQuery } from '../notification/notification-query';
import { NOTIFIED_OPTIONS, FAILURE_OPTIONS, STATE_OPTIONS } from '../notification/words';
import { useOwnSubscriptionOptions } from './own-queries';

const FILTERS: readonly Filter[] = [
  { name: 'booking_code', label: 'Booking code', main: true },
  { name: 'subscription_id', label: 'Subscription', useOptions: useOwnSubscriptionOptions },
  { name: 'state', label: 'State', options: STATE_OPTIONS },
  { name: 'failure', label: 'Failure', options: FAILURE_OPTIONS },
  { name: 'change_reason', label: 'Event', options: NOTIFIED_OPTIONS },
  { name: 'candidate_id', label: 'Candidate id' },
  { name: 'from', label: 'Created from', type: 'moment' },
  { name: 'to', label: 'Created before', type: 'moment' },
];

/**
 * The ids of the columns that this list shares with the list for operators. Other columns of that list contain links to
 * pages for operators.
 */
const PLAIN = ['event', 'exam', 'state', 'failure', 'retry', 'created', 'delivered', 'id'];
const COLUMNS: readonly Column<Schemas['NotificationModel']>[] = [
  {
    id: 'booking',
    header: 'Booking',
    kind: 'main',
    cell: ({ id, booking_code: booking, svc_eligiblity_id: record, event_sequence: number }) => (
      <>
        <Link to="/own/notifications/$id" params={{ id }}>
          {booking ?? record}
        </Link>
        <small>no. {number}</small>
      </>
    ),
    text: ({ booking_code: booking, svc_eligiblity_id: record }) => booking ?? record,
  },
  {
    id: 'candidate',
    header: 'Candidate',
    cell: ({ candidate_id: candidate, candidate_name: name }) => (
      <span>
        {candidate}
        <CandidateName name={name} />
      </span>
    ),
    text: ({ candidate_id: candidate }) => candidate,
  },
  ...NOTIFICATION_COLUMNS.filter(({ id }) => PLAIN.includes(id)),
];

/** Shows a partner the notifications for its own subscriptions. */
export function OwnNotificationsPage() {
  const search = useSearch({ from: '/own/notifications' });
  const query = notificationQuery(search);
  return (
    <Page title="Notifications" lead="All your notifications, newest first.">
      <Filters of={FILTERS} />
      <List
        name="own-notifications"
        caption="Notifications, newest first"
        columns={COLUMNS}
        rowKey={({ id }) => id}
        queryKey={['own', 'notifications', search]}
        load={(cursor, signal) =>
          pageOf(api.GET('/partner/notifications', { params: { query: { ...query, cursor, limit: 50 } }, signal }))
        }
        empty="No entries match these filters. Clear a filter to see more."
      />
    </Page>
  );
}
