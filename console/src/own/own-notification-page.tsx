import '../notification/notification.css';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { api, newIdempotencyKey, type Schemas } from '../api/client';
import { Badge } from '../components/badge';
import { Button } from '../components/button';
import { confirm } from '../components/confirm';
import { Copyable } from '../components/copy';
import { failureText } from '../components/failure-text';
import { Facts, Page } from '../components/page';
import { Shown } from '../components/states';
import { Time } from '../components/time';
import { toast } from '../components/toast';
import { CandidateName } from '../notification/candidate-name';
import { NotificationContent } from '../notification/notification-content';
import { notifiedText, retryText } from '../notification/words';
import { ownNotificationQuery, ownSubscriptionQuery } from './own-queries';

/** Shows a partner one of its notifications, with the responses from its endpoint. */
export function OwnNotificationPage() {
  const { id } = useParams({ from: '/own/notifications/$id' });
  const notification = useQuery(ownNotificationQuery(id));
  return <Shown query={notification}>{(found) => <One notification={found} />}</Shown>;
}

function One({ notification }: { notification: Schemas['NotificationDetail'] }) {
  const { id, subscription_id: subscriptionId, svc_eligiblity_id: record, state } = notification;
  const about = notification.booking_code ?? record ?? undefined;
  const subscription = useQuery(ownSubscriptionQuery(subscriptionId)).data;
  const queries = useQueryClient();
  const isQueued = state === 'ERROR_QUEUE';

  async function sendAgain() {
    const header = { 'Idempotency-Key': newIdempotencyKey() };
    const done = await confirm({
      title: 'Send this notification again?',
      text: isQueued
        ? 'The service will send you the notification immediately.'
        : 'The notification has already been delivered. The service will send it to you once more, with the same id and content.',
      action: 'Send again',
      perform: () =>
        isQueued
          ? api.POST('/partner/notifications/{id}/resend', { params: { path: { id }, header }, body: {} })
          : api.POST('/partner/notifications/replay', { params: { header }, body: { ids: [id] } }),
    });
    if (!done) return;
    toast('The notification is being sent again. Your endpoint’s answer will appear here.');
    await queries.invalidateQueries({ queryKey: ['own', 'notifications'] });
  }

  return (
    <Page
      title={`${notifiedText(notification.change_reason)} ${about}`}
      badge={<Badge state={state} />}
      trail={
        <>
          <Link to="/own/notifications">Notifications</Link>
          <Link to="/own/notifications" search={{ booking_code: about }}>
            All notifications of this {record === null ? 'booking' : 'record'}
          </Link>
        </>
      }
      actions={
        (isQueued || state === 'DELIVERED') && (
          <Button kind={isQueued ? 'primary' : 'plain'} onPress={() => void sendAgain()}>
            Send again …
          </Button>
        )
      }
    >
      <Facts
        of={[
          ['Failure', isQueued || notification.failure ? failureText(notification.failure) : null],
          ['HTTP status', notification.http_status],
          ['Retry', retryText(notification.retry)],
          ['Next attempt', notification.next_attempt_at && <Time at={notification.next_attempt_at} />],
          [
            'Exam',
            notification.booking_on && <Time at={notification.booking_on} zone={notification.location_timezone} />,
          ],
          [
            'Candidate',
            notification.candidate_id && (
              <span>
                {notification.candidate_id}
                <CandidateName name={notification.candidate_name} />
              </span>
            ),
          ],
          ['Created', <Time at={notification.created_datetime} />],
          ['Delivered', notification.delivered_datetime && <Time at={notification.delivered_datetime} />],
          ['Effective date', <Time at={notification.effective_date} />],
          ['webhook-id', <Copyable text={id} />],
        ]}
      />
      <NotificationContent notification={notification} subscription={subscription} />
    </Page>
  );
}
