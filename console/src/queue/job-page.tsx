import './queue.css';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useParams, useSearch } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { AccountName } from '../components/account-name';
import { api, dataOf, pageOf, type Schemas } from '../api/client';
import { Badge } from '../components/badge';
import { Code } from '../components/code';
import { Copyable } from '../components/copy';
import { Filters, type Filter } from '../components/filters';
import { List } from '../components/list';
import { Facts, Page, Section } from '../components/page';
import { Shown } from '../components/states';
import type { Column } from '../components/table';
import { Time } from '../components/time';
import { toast } from '../components/toast';
import { CandidateName } from '../notification/candidate-name';
import { ExamStart } from '../notification/exam-start';
import { PartnerLink } from '../notification/partner-link';
import { notifiedText } from '../notification/words';
import { partnerName, partnerTitle } from '../partners/partner-name';
import { filterTexts } from './filter-text';
import { JobActions } from './job-actions';
import { JobProgress } from './job-progress';
import { isMoving, conditionsOf, jobNote, kindText, type Job } from './job-text';
import type { operations } from '../../../clients/typescript/src/openapi';

type Item = Schemas['JobItemModel'];
type Query = NonNullable<operations['listJobItems']['parameters']['query']>;

const OUTCOMES = ['WAITING', 'SENT', 'DELIVERED', 'FAILED', 'SKIPPED', 'RESOLVED'] satisfies Item['outcome'][];
const FILTERS: readonly Filter[] = [
  {
    name: 'outcome',
    label: 'Outcome',
    options: OUTCOMES.map((outcome) => [outcome, outcome.charAt(0) + outcome.slice(1).toLowerCase()]),
  },
];

const COLUMNS: readonly Column<Item>[] = [
  {
    id: 'booking',
    header: 'Booking',
    kind: 'main',
    cell: ({ notification_id: id, booking_code: booking, svc_eligiblity_id: record }) =>
      id == null ? (
        <span className="nothing">Notification deleted</span>
      ) : (
        <Link to="/notifications/$id" params={{ id }}>
          <Code>{booking ?? record ?? id}</Code>
        </Link>
      ),
    text: ({ booking_code: booking, svc_eligiblity_id: record }) => booking ?? record,
  },
  {
    id: 'event',
    header: 'Event',
    text: ({ change_reason: reason }) => reason && notifiedText(reason),
  },
  {
    id: 'partner',
    header: 'Partner',
    cell: (item) =>
      item.subscription_name == null && item.partner_url == null ? (
        item.subscription_id
      ) : (
        <PartnerLink id={item.subscription_id}>
          {partnerName({ ...item, partner_url: item.partner_url ?? null })}
        </PartnerLink>
      ),
    text: ({ subscription_name: name, partner_url: url, subscription_id: id }) => name ?? url ?? id,
  },
  {
    id: 'candidate',
    header: 'Candidate',
    cell: ({ candidate_id: candidate, candidate_name: name }) =>
      candidate === null ? (
        <span className="nothing">–</span>
      ) : (
        <span>
          <Code>{candidate}</Code>
          <CandidateName name={name} />
        </span>
      ),
    text: ({ candidate_id: candidate }) => candidate,
  },
  { id: 'exam', header: 'Exam', cell: (item) => <ExamStart of={item} />, text: ({ booking_on: at }) => at },
  {
    id: 'outcome',
    header: 'Outcome',
    as: 'badge',
    text: ({ outcome }) => outcome,
  },
  {
    id: 'id',
    header: 'webhook-id',
    hidden: true,
    as: 'id',
    text: ({ notification_id: id }) => id,
  },
];

export function JobPage() {
  const { jobId } = useParams({ from: '/jobs/$jobId' });
  const job = useQuery({
    queryKey: ['jobs', 'one', jobId],
    queryFn: ({ signal }) => dataOf(api.GET('/admin/jobs/{job_id}', { params: { path: { job_id: jobId } }, signal })),
    refetchInterval: ({ state }) =>
      state.data && isMoving(state.data) ? (state.data.state === 'PAUSED' ? 5000 : 1000) : false,
  });
  return <Shown query={job}>{(found) => <OneJob job={found} />}</Shown>;
}

function OneJob({ job }: { job: Job }) {
  useTold(job);
  return (
    <Page
      title={kindText(job.kind)}
      badge={<Badge state={job.state} />}
      trail={
        <>
          <Link to="/queue">Error queue</Link>
          <Link to="/jobs">All jobs</Link>
        </>
      }
      actions={<JobActions job={job} />}
      lead={jobNote(job)}
    >
      <div className="panel">
        <JobProgress job={job} />
      </div>
      <Section title="Details">
        <Facts
          of={[
            [
              'Partner',
              job.subscription_id && (
                <PartnerLink id={job.subscription_id}>
                  {partnerTitle({ ...job, partner_url: job.partner_url! })}
                </PartnerLink>
              ),
            ],
            ['Account', job.account_code && <AccountName code={job.account_code} />],
            ...filterTexts(conditionsOf(job)),
            ['Reason', job.reason],
            ['Started by', <bdi key="actor">{job.actor}</bdi>],
            ['Started', <Time at={job.created_datetime} />],
            ['Id', <Copyable text={job.job_id} />],
          ]}
        />
      </Section>
      {job.kind !== 'ERASE' && job.state !== 'PREPARING' && (
        <Section title="Notifications in this job">
          <Items job={job} />
        </Section>
      )}
    </Page>
  );
}

/** Lists the notifications of the job. The list is fetched again when one of the job's counts changes. */
function Items({ job }: { job: Job }) {
  const search = useSearch({ from: '/jobs/$jobId' });
  const queries = useQueryClient();
  const figures = [job.sent, job.delivered, job.failed, job.skipped, job.resolved, job.waiting].join(' ');
  const shown = useRef(figures);
  useEffect(() => {
    if (shown.current !== figures) void queries.invalidateQueries({ queryKey: ['job-items', job.job_id] });
    shown.current = figures;
  }, [figures, job.job_id, queries]);
  return (
    <>
      <Filters of={FILTERS} />
      <List
        name="job-items"
        caption="Notifications in this job, oldest first"
        columns={COLUMNS}
        rowKey={({ notification_id: id, booking_code: code }) => id ?? code ?? ''}
        queryKey={['job-items', job.job_id, search]}
        load={(cursor, signal) =>
          pageOf(
            api.GET('/admin/jobs/{job_id}/items', {
              params: { path: { job_id: job.job_id }, query: { ...(search as Query), cursor, limit: 50 } },
              signal,
            }),
          )
        }
        empty="No matches."
      />
    </>
  );
}

/** Announces each new state of the job to screen readers, for users who do not see the progress bar. */
function useTold(job: Job): void {
  const before = useRef(job.state);
  useEffect(() => {
    if (before.current !== job.state)
      toast(`The job is ${job.state.toLowerCase()}: ${job.delivered} delivered, ${job.failed} failed.`);
    before.current = job.state;
  }, [job]);
}
