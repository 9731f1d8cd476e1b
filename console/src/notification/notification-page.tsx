import './notification.css';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { AccountName } from '../components/account-name';
import { api, dataOf, newIdempotencyKey, type Schemas } from '../api/client';
import { useLive } from '../api/live';
import { Badge } from '../components/badge';
import { Button } from '../components/button';
import { Code } from '../components/code';
import { confirm } from '../components/confirm';
import { Copyable, CopyButton } from '../components/copy';
import { failureText } from '../components/failure-text';
import { Facts, Page, Section } from '../components/page';
import { Shown } from '../components/states';
import { Time } from '../components/time';
import { toast } from '../components/toast';
import { partnerTitle } from '../partners/partner-name';
import { BookingTimeline } from './booking-timeline';
import { curlOf } from './curl';
import { PartnerLink } from './partner-link';
import { NotificationContent } from './notification-content';
import { notifiedText, retryText } from './words';

type Notification = Schemas['NotificationDetail'];

export function NotificationPage() {
  const { id } = useParams({ from: '/notifications/$id' });
  return <NotificationItem id={id} />;
}

/** Shows a notification on its own page, or beside a list. */
export function NotificationItem({ id }: { id: string }) {
  useLive(['undelivered', 'attempts'], [['notifications', 'one', id]]);
  const notification = useQuery({
    queryKey: ['notifications', 'one', id],
    queryFn: ({ signal }) => dataOf(api.GET('/admin/notifications/{id}', { params: { path: { id } }, signal })),
    // While an attempt is running, the notification is refetched every second. An attempt is short, because it has a
    // time limit.
    refetchInterval: ({ state }) => (state.data?.state === 'PENDING' ? 1000 : false),
  });
  return <Shown query={notification}>{(found) => <OneNotification notification={found} />}</Shown>;
}

function OneNotification({ notification }: { notification: Notification }) {
  const { id, subscription_id: subscriptionId, svc_eligiblity_id: record, state } = notification;
  const booking = notification.booking_code ?? record ?? undefined;
  const subscription = useQuery({
    queryKey: ['subscriptions', subscriptionId],
    queryFn: ({ signal }) =>
      dataOf(api.GET('/admin/subscriptions/{id}', { params: { path: { id: subscriptionId } }, signal })),
  }).data;
  const queries = useQueryClient();
  const isQueued = state === 'ERROR_QUEUE';

  async function act(deed: 'resend' | 'resolve') {
    const done = await confirm({
      title: deed === 'resend' ? 'Resend this notification?' : 'Resolve this notification?',
      text:
        deed === 'resend'
          ? 'The notification will be sent immediately, even if the partner is down.'
          : 'Resolve a notification if its event was handled in another way. The notification will be kept, but never sent again.',
      reason: deed === 'resend' ? 'optional' : 'required',
      action: deed === 'resend' ? 'Resend' : 'Resolve',
      perform: (reason) => {
        const params = { path: { notification_id: id }, header: { 'Idempotency-Key': newIdempotencyKey() } };
        return deed === 'resend'
          ? api.POST('/admin/error-queue/{notification_id}/resend', { params, body: reason ? { reason } : {} })
          : api.POST('/admin/error-queue/{notification_id}/resolve', { params, body: { reason } });
      },
    });
    if (!done) return;
    toast(
      deed === 'resend'
        ? 'The notification was resent. The partner’s answer will appear here.'
        : 'The notification was resolved.',
    );
    await queries.invalidateQueries({ queryKey: ['notifications'] });
    void queries.invalidateQueries({ queryKey: ['error-queue'] });
  }

  return (
    <Page
      title={`${notifiedText(notification.change_reason)} ${booking}`}
      badge={<Badge state={state} />}
      trail={
        <>
          <Link to="/queue">Error queue</Link>
          <Link to="/notifications" search={{ booking_code: booking }}>
            All notifications of this {record === null ? 'booking' : 'record'}
          </Link>
        </>
      }
      actions={
        <>
          {isQueued && (
            <>
              <Button kind="primary" onPress={() => void act('resend')}>
                Resend …
              </Button>
              <Button onPress={() => void act('resolve')}>Resolve …</Button>
            </>
          )}
          {subscription?.partner_url != null && (
            <CopyButton
              text={() => curlOf(notification, subscription, subscription.partner_url!)}
              label="Copy as curl"
              small={false}
            />
          )}
        </>
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
            <>
              <Link
                to="/candidates/$account/$candidate"
                params={{ account: notification.account_code, candidate: notification.candidate_id }}
              >
                <Code>{notification.candidate_id}</Code>
              </Link>{' '}
              <bdi>{notification.candidate_name}</bdi>
            </>,
          ],
          ['Created', <Time at={notification.created_datetime} />],
          ['Delivered', <Time at={notification.delivered_datetime} />],
          ['Effective date', <Time at={notification.effective_date} />],
          ['Account', <AccountName code={notification.account_code} />],
          ['Partner', <PartnerLink id={subscriptionId}>{partnerTitle(notification)}</PartnerLink>],
          ['webhook-id', <Copyable text={id} />],
        ]}
      />
      <Section title={`All events for this ${record === null ? 'booking' : 'record'}, oldest first`}>
        <BookingTimeline notification={notification} />
      </Section>
      <NotificationContent notification={notification} subscription={subscription} />
    </Page>
  );
}
