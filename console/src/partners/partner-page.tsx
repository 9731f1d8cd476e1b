import './partners.css';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams, useSearch } from '@tanstack/react-router';
import { useMemo } from 'react';
import { AccountName } from '../components/account-name';
import type { Schemas } from '../api/client';
import { useLive } from '../api/live';
import { useScopes } from '../api/session';
import { Badge } from '../components/badge';
import { LinkButton } from '../components/button';
import { Chart } from '../components/chart';
import { Copyable } from '../components/copy';
import { failureText } from '../components/failure-text';
import { Filters, type Filter } from '../components/filters';
import { Facts, Page, Section } from '../components/page';
import { isFirstAwaited, Loading, Shown } from '../components/states';
import { Time } from '../components/time';
import { NOTIFIED_OPTIONS, eventText, notifiedText, retryCauseText } from '../notification/words';
import { NextAttempt } from '../notification/next-attempt';
import { BulkButtons } from '../queue/bulk-buttons';
import { filterOf } from '../queue/filter-text';
import { LatestAnswer } from '../queue/latest-answer';
import { conditionOf } from './condition';
import { partnerTitle } from './partner-name';
import { PartnerActions } from './partner-actions';
import { statisticsQuery, subscriptionQuery } from './partner-queries';
import { Certificate } from './partners-page';
import { SampleSection } from './sample-section';
import { signInText } from './sign-in-text';
import { Warnings } from './warnings';

type Subscription = Schemas['SubscriptionModel'];
type Statistics = Schemas['SubscriptionStatistics'];

export function PartnerPage() {
  const { id } = useParams({ from: '/partners/$id' });
  useLive(['partners'], [['subscriptions', id]]);
  const subscription = useQuery(subscriptionQuery(id));
  // The partner and its statistics are fetched and shown together. Otherwise, figures that arrive late would move the
  // buttons.
  const statistics = useQuery(statisticsQuery(id));
  if (subscription.isSuccess && isFirstAwaited(statistics)) return <Loading />;
  return <Shown query={subscription}>{(found) => <Partner subscription={found} />}</Shown>;
}

function Partner({ subscription }: { subscription: Subscription }) {
  const { id, name, partner_url: url, delivery } = subscription;
  useLive(['attempts', 'undelivered'], [['subscriptions', id, 'statistics']]);
  const statistics = useQuery(statisticsQuery(id));
  const [word, tone] = conditionOf(subscription);
  const isAdmin = useScopes().includes('admin');
  return (
    <Page
      title={partnerTitle({ subscription_name: name, partner_url: url })}
      badge={<Badge state={word} tone={tone} />}
      trail={<Link to="/partners">Partners</Link>}
      actions={
        <>
          <LinkButton to="/queue" search={{ subscription_id: id }}>
            Error queue for this partner
          </LinkButton>
          {isAdmin && (
            <LinkButton to="/partners/$id/settings" params={{ id }}>
              Settings
            </LinkButton>
          )}
        </>
      }
    >
      <PartnerActions subscription={subscription} />
      {word === 'FAILING' && <Failing since={subscription.failing_since} id={id} />}
      <Warnings of={subscription.warnings} />
      <Facts
        of={[
          ['Delivery', delivery === 'POLL' ? 'The partner polls' : 'Pushed to the address'],
          ['Address', url],
          ['Account', <AccountName code={subscription.account_code} />],
          ['Events', subscription.change_reasons.map(eventText).join(', ')],
          ['Changes of records', subscription.record_changes.map(notifiedText).join(', ') || 'None'],
          ['Authentication', signInText(subscription.auth)],
          ['Answer timeout', subscription.wait_ms == null ? 'Default' : `${subscription.wait_ms} ms`],
          ['Failures retried automatically', subscription.auto_retry_on.map(retryCauseText).join(', ')],
          ['Maximum requests per second', subscription.max_per_second ?? 'No limit'],
          ['Current requests per second', subscription.pace?.toLocaleString('en')],
          ['Busy until', subscription.paused_until && <Time at={subscription.paused_until} />],
          ['Next attempt', subscription.next_probe_at && <NextAttempt at={subscription.next_probe_at} />],
          ['Oldest undelivered event', <Time at={statistics.data?.oldest_undelivered} />],
          ['Bookings with undelivered events', statistics.data?.bookings_waiting.toLocaleString('en')],
          ['Next exam with undelivered events', <Time at={statistics.data?.next_booking_on} />],
          ['Certificate', <Certificate notAfter={statistics.data?.certificate_not_after} />],
          ['Changed', <Time at={subscription.updated_datetime} />],
          ['Id', <Copyable text={id} />],
        ]}
      />
      <Section title="Attempts in the last 7 days">
        <Shown query={statistics}>{(found) => <Charts statistics={found} />}</Shown>
      </Section>
      {delivery === 'PUSH' && <SampleSection subscription={subscription} />}
      <Replay id={id} />
    </Page>
  );
}

/**
 * Shows since when every attempt to notify the partner has failed, with a link to the causes and the partner's
 * responses.
 */
function Failing({ since, id }: { since: string | null | undefined; id: string }) {
  return (
    <p className="note bad">
      Every attempt has failed since <Time at={since} short />.{' '}
      <Link to="/queue/notifications" search={{ subscription_id: id }}>
        Show the failed notifications
      </Link>{' '}
      <LatestAnswer filter={{ subscription_id: id }} />
    </p>
  );
}

/** Shows the attempts of the last seven days as charts. */
export function Charts({ statistics: { hours } }: { statistics: Statistics }) {
  const { at, attempts, times } = useMemo(() => chartsOf(hours), [hours]);
  const causes = new Map<string, number>();
  for (const { failed } of hours)
    for (const [cause, count] of Object.entries(failed)) causes.set(cause, (causes.get(cause) ?? 0) + count);
  return (
    <div className="charts">
      <Chart label="Successful and failed delivery attempts per hour" at={at} series={attempts} />
      <Chart label="Attempt duration by hour" unit="ms" at={at} series={times} />
      {causes.size > 0 && (
        <p className="hint">
          Failed:{' '}
          {[...causes]
            .map(([cause, count]) => `${failureText(cause as Parameters<typeof failureText>[0])} ${count}`)
            .join(' · ')}
        </p>
      )}
    </div>
  );
}

/** Builds the data of the charts. Its caller memoizes the data, because a chart for a week has many parts. */
function chartsOf(hours: Statistics['hours']) {
  const failedIn = (failed: Record<string, number>) => Object.values(failed).reduce((sum, count) => sum + count, 0);
  return {
    at: hours.map(({ from }) => from),
    attempts: [
      { label: 'Delivered', tone: 'good' as const, values: hours.map(({ delivered }) => delivered) },
      { label: 'Failed', tone: 'bad' as const, values: hours.map(({ failed }) => failedIn(failed)) },
    ],
    times: [
      { label: 'Median', tone: 'accent' as const, kind: 'line' as const, values: hours.map(({ p50_ms: p50 }) => p50) },
      { label: 'p95', tone: 'warn' as const, kind: 'line' as const, values: hours.map(({ p95_ms: p95 }) => p95) },
    ],
  };
}

const REPLAY_FILTERS: readonly Filter[] = [
  { name: 'from', label: 'Created from', type: 'moment' },
  { name: 'to', label: 'Created before', type: 'moment' },
  { name: 'booking_code', label: 'Booking code' },
  { name: 'change_reason', label: 'Event', options: NOTIFIED_OPTIONS },
];

/** Shows the form with which an operator resends notifications to a partner that has lost its data. */
function Replay({ id }: { id: string }) {
  const search = useSearch({ from: '/partners/$id' });
  return (
    <Section title="Replay">
      <p className="hint">
        A replay sends delivered notifications again, with the same ids and content. Use a replay if the partner has
        lost notifications.
      </p>
      <Filters of={REPLAY_FILTERS} />
      <BulkButtons kinds={['replay']} filter={{ ...filterOf(search), subscription_id: id }} />
    </Section>
  );
}
