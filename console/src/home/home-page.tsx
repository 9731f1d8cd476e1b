import './home.css';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link, type LinkProps } from '@tanstack/react-router';
import { useMemo, type ReactNode } from 'react';
import type { Schemas } from '../api/client';
import { useLive } from '../api/live';
import { Chart } from '../components/chart';
import { Page, Section } from '../components/page';
import { Shown, useInParts } from '../components/states';
import { Time } from '../components/time';
import { JobLines } from '../queue/job-lines';
import { LiveNote } from './live-note';
import { overviewQuery } from './overview-query';
import { PartnersInTrouble } from './partners-in-trouble';

type Overview = Schemas['OverviewModel'];

const EXAM_IN: readonly (readonly [keyof Overview['undelivered']['exam_in'], string, string])[] = [
  ['past', 'Exam has begun', 'bad'],
  ['2h', 'within 2 hours', 'bad'],
  ['24h', 'within 24 hours', 'warn'],
  ['7d', 'within 7 days', 'busy'],
  ['later', 'later, or unknown', 'quiet'],
];

/** Shows the home page, which lists only the work that an operator must do now. */
export function HomePage() {
  useLive(['undelivered', 'attempts', 'partners', 'jobs', 'waiting', 'unmatched'], [overviewQuery.queryKey]);
  const overview = useInParts(
    useQuery({
      ...overviewQuery,
      placeholderData: keepPreviousData,
      refetchOnWindowFocus: true,
      // The data is refetched every minute, because ages and remaining times change even if the service reports no
      // change.
      refetchInterval: 60_000,
    }),
  );
  return (
    <Page title="Overview" actions={<LiveNote at={overview.data?.at} />}>
      <Shown query={overview}>{(data) => <Everything overview={data} />}</Shown>
    </Page>
  );
}

function Everything({ overview }: { overview: Overview }) {
  const { undelivered, partners, attention, hours, jobs } = overview;
  const soon = undelivered.exam_in.past + undelivered.exam_in['2h'];
  const waiting = overview.unmatched_results + overview.approvals;
  const allIsWell = undelivered.total === 0 && attention.length === 0 && waiting === 0;
  const chart = useMemo(
    () => ({
      at: hours.map(({ from }) => from),
      series: [
        { label: 'Delivered', tone: 'good' as const, values: hours.map(({ delivered }) => delivered) },
        { label: 'Failed', tone: 'bad' as const, values: hours.map(({ failed }) => failed) },
      ],
    }),
    [hours],
  );
  const delivered = hours.reduce((sum, hour) => sum + hour.delivered, 0);
  const failed = hours.reduce((sum, hour) => sum + hour.failed, 0);
  return (
    <>
      {allIsWell ? (
        <p className="summary good">
          <strong>All is well.</strong> There are no undelivered notifications, and no work is waiting for you.
        </p>
      ) : (
        // The summary has the same height whether or not action is needed, so that the content below it does not move.
        <p className="summary">
          <strong>Action needed.</strong> Select a highlighted number to see the corresponding items.
        </p>
      )}
      <div className="tiles">
        <Tile label="Not delivered" count={undelivered.total} tone={soon > 0 ? 'bad' : 'warn'} to="/queue">
          {undelivered.oldest_created_datetime ? (
            <>
              oldest <Time at={undelivered.oldest_created_datetime} compact />
            </>
          ) : (
            'none waiting'
          )}
        </Tile>
        <Tile
          label="Partners with problems"
          count={partners.down + partners.failing}
          tone="bad"
          to="/partners"
          search={{ failing: 'true' }}
        >
          {partners.well.toLocaleString('en')} healthy
        </Tile>
        <Tile label="Unmatched results" count={overview.unmatched_results} tone="warn" to="/work/unmatched">
          to be accepted or rejected
        </Tile>
        <Tile label="Approvals waiting" count={overview.approvals} tone="warn" to="/work/approvals">
          to be approved or declined
        </Tile>
        <Tile label="Records on hold" count={overview.holds} tone="quiet" to="/work/holds">
          to be released
        </Tile>
      </div>
      <div className="home-columns">
        <Section title="Undelivered notifications, by time until the exam">
          <Buckets of={undelivered} />
        </Section>
        <Section title="Deliveries in the last 24 hours">
          <div className="panel">
            <p className="line">
              <Link to="/notifications" search={{ state: 'DELIVERED', from: hours[0]?.from }}>
                <strong>{delivered.toLocaleString('en')}</strong> delivered
              </Link>
              <span>
                <strong>{failed.toLocaleString('en')}</strong> failed
              </span>
            </p>
            <Chart
              label={`Delivery attempts by hour (last 24 hours: ${delivered} delivered, ${failed} failed)`}
              height={150}
              {...chart}
            />
          </div>
        </Section>
      </div>
      <PartnersInTrouble partners={attention} counts={partners} />
      {jobs.length > 0 && (
        <Section title="Current jobs" actions={<Link to="/jobs">All jobs</Link>}>
          <JobLines jobs={jobs} />
        </Section>
      )}
    </>
  );
}

interface TileProps extends Pick<LinkProps, 'to' | 'search'> {
  label: string;
  count: number;
  tone: string;
  children: ReactNode;
}

function Tile({ label, count, tone, children, ...target }: TileProps) {
  return (
    <Link {...target} className={`tile ${count > 0 ? tone : 'good'}`}>
      <span className="tile-label">{label}</span>
      <span className="tile-count">{count.toLocaleString('en')}</span>
      <span className="tile-more">{children}</span>
    </Link>
  );
}

function Buckets({ of: { total, exam_in: examIn } }: { of: Overview['undelivered'] }) {
  return (
    <ul className="buckets panel">
      {EXAM_IN.map(([name, label, tone]) => (
        <li key={name}>
          <Link
            to="/notifications"
            search={{ exam_in: name }}
            aria-label={`${label}: ${examIn[name].toLocaleString('en')}`}
          >
            {label}
          </Link>
          <span className="bucket-track" aria-hidden="true">
            <i className={tone} style={{ width: `${total === 0 ? 0 : (100 * examIn[name]) / total}%` }} />
          </span>
          <strong aria-hidden="true">{examIn[name].toLocaleString('en')}</strong>
        </li>
      ))}
    </ul>
  );
}
