import './queue.css';
import { useQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { useMemo } from 'react';
import { ACCOUNT_FILTER } from '../components/account-options';
import { AccountNameInline } from '../components/account-name';
import type { Schemas } from '../api/client';
import { useLive } from '../api/live';
import { useScopes } from '../api/session';
import { counted } from '../components/counted';
import { failureText, reasonText } from '../components/failure-text';
import type { Option } from '../components/fields';
import { Filters, type Filter } from '../components/filters';
import { Shown, useInParts } from '../components/states';
import { Table, type Column } from '../components/table';
import { Page, Section } from '../components/page';
import { Time } from '../components/time';
import { LinkButton } from '../components/button';
import { PartnerLink, PartnerSettingsLink } from '../notification/partner-link';
import { RETRY_OPTIONS, retryText } from '../notification/words';
import { byLabel } from '../partners/partner-filter';
import { partnerTitle } from '../partners/partner-name';
import { BulkButtons } from './bulk-buttons';
import { causesQuery } from './causes-query';
import { filterOf, searchOf } from './filter-text';
import { hintFor } from './hints';
import { LatestAnswer } from './latest-answer';
import { JobsNow } from './jobs-now';

type Cause = Schemas['CauseModel'];

/** Returns the partners that have notifications in the error queue, sorted by name. */
function useCausePartners(): readonly Option[] {
  const { data = [] } = useQuery(causesQuery);
  const names = new Map(data.map((cause) => [cause.subscription_id, partnerTitle(cause)]));
  return [...names].toSorted(byLabel);
}

const FILTERS: readonly Filter[] = [
  { ...ACCOUNT_FILTER, main: true },
  { name: 'subscription_id', label: 'Partner', useOptions: useCausePartners },
  { name: 'retry', label: 'Retry', options: RETRY_OPTIONS },
];

const COLUMNS: readonly Column<Cause>[] = [
  {
    id: 'cause',
    header: 'Cause',
    kind: 'main',
    cell: (cause) => (
      <>
        <Link to="/queue/notifications" search={searchOf(cause)}>
          {failureText(cause.failure)}
        </Link>
        <small>
          {[cause.http_status && `HTTP ${cause.http_status}`, cause.reason && reasonText(cause.reason)]
            .filter(Boolean)
            .join(' · ') || cause.failure}
        </small>
      </>
    ),
    text: ({ failure, reason, http_status: status }) =>
      [failure ?? 'not tried', status, reason].filter(Boolean).join(' '),
  },
  {
    id: 'partner',
    header: 'Partner',
    cell: (cause) => (
      <span>
        <PartnerLink id={cause.subscription_id}>{partnerTitle(cause)}</PartnerLink>
        <small>
          <AccountNameInline code={cause.account_code} />
        </small>
      </span>
    ),
    text: partnerTitle,
  },
  {
    id: 'count',
    header: 'Count',
    kind: 'number',
    cell: ({ count }) => <strong>{count.toLocaleString('en')}</strong>,
    text: ({ count }) => count,
  },
  {
    id: 'exam',
    header: 'Next exam',
    cell: ({ next_booking_on: at, next_location_timezone: zone }) => <Time at={at} zone={zone} />,
    text: ({ next_booking_on: at }) => at,
  },
  { id: 'oldest', header: 'First seen', as: 'time', text: ({ oldest: at }) => at },
  {
    id: 'newest',
    header: 'Last seen',
    hidden: true,
    as: 'time',
    text: ({ newest: at }) => at,
  },
  {
    id: 'retry',
    header: 'Retry',
    hidden: true,
    cell: ({ retry }) => retryText(retry),
    text: ({ retry }) => retry,
  },
  {
    id: 'todo',
    header: 'What to do',
    cell: (cause) => <WhatToDo cause={cause} />,
    text: (cause) => hintFor(cause).text,
  },
];

function WhatToDo({ cause }: { cause: Cause }) {
  const { text, place: best } = hintFor(cause);
  // Operators with the `support` scope may not change the settings of a partner.
  const isAdmin = useScopes().includes('admin');
  const place = best === 'settings' && !isAdmin ? 'partner' : best;
  return (
    <div className="todo">
      <span>{text}</span>
      <span className="actions">
        {place === 'partner' && <PartnerLink id={cause.subscription_id}>Open the partner</PartnerLink>}
        {place === 'settings' && (
          <PartnerSettingsLink id={cause.subscription_id}>Correct the settings</PartnerSettingsLink>
        )}
        {place === 'notifications' && (
          <Link to="/queue/notifications" search={searchOf(cause)}>
            Read the answers
          </Link>
        )}
        {cause.failure !== null && <LatestAnswer filter={searchOf(cause)} />}
        <BulkButtons
          kinds={['resend', 'resolve']}
          small
          filter={filterOf(searchOf(cause))}
          of={`${failureText(cause.failure)}, ${partnerTitle(cause)}`}
        />
      </span>
    </div>
  );
}

/**
 * Shows the notifications in the error queue, grouped by the cause of the failure. Each group shows the failure and its
 * partner, the number of notifications, and the remedy.
 */
export function CausesPage() {
  const search = useSearch({ from: '/queue' });
  useLive(['undelivered', 'attempts', 'jobs'], [['error-queue'], ['jobs']]);
  const causes = useInParts(useQuery(causesQuery));
  const found = useMemo(
    () =>
      (causes.data ?? []).filter((cause) =>
        Object.entries(search).every(([name, value]) => cause[name as keyof Cause] === value),
      ),
    [causes.data, search],
  );
  const total = found.reduce((sum, { count }) => sum + count, 0);
  return (
    <Page
      title="Error queue"
      // Until the number of notifications arrives, a space reserves the height of the line, so that the content below
      // does not move.
      lead={causes.data === undefined ? '\u00a0' : leadOf(total, found.length)}
      actions={
        <>
          {(causes.data === undefined || total > 0) && <BulkButtons kinds={['resend']} filter={filterOf(search)} />}
          <LinkButton to="/queue/notifications">Show all</LinkButton>
        </>
      }
    >
      <Filters of={FILTERS} />
      <Shown query={causes}>
        {(all) => (
          <>
            <Table
              name="error-queue-causes"
              caption="Causes, the most frequent first"
              columns={COLUMNS}
              rowKey={(cause) => JSON.stringify(searchOf(cause))}
              rows={found}
              list={JSON.stringify(search)}
              empty={
                all.length === 0
                  ? 'The error queue is empty. No notifications need your attention.'
                  : 'No entries match these filters. Clear a filter to see more.'
              }
              emptyIsGood={all.length === 0}
            />
            <Section title="Current jobs" actions={<Link to="/jobs">All jobs</Link>}>
              <JobsNow />
            </Section>
          </>
        )}
      </Shown>
    </Page>
  );
}

function leadOf(total: number, causes: number): string {
  if (total === 0) return 'There are no notifications to show.';
  const notifications = counted(total, 'notification is', 'notifications are');
  return `${notifications} in the error queue, for ${counted(causes, 'cause', 'causes')}.`;
}
