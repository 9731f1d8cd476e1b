import './queue.css';
import { Link, useSearch } from '@tanstack/react-router';
import { ACCOUNT_FILTER } from '../components/account-options';
import { api, pageOf } from '../api/client';
import { useLive } from '../api/live';
import { Badge } from '../components/badge';
import { Filters, type Filter } from '../components/filters';
import { Isolated } from '../components/isolated';
import { List } from '../components/list';
import { Page } from '../components/page';
import type { Column } from '../components/table';
import { PARTNER_FILTER } from '../partners/partner-filter';
import { JobActions } from './job-actions';
import { JobProgress } from './job-progress';
import { JOB_STATE_OPTIONS, jobNote, KIND_OPTIONS, kindText, scopeTexts, type Job } from './job-text';
import type { operations } from '../../../clients/typescript/src/openapi';

type Query = NonNullable<operations['listJobs']['parameters']['query']>;

const FILTERS: readonly Filter[] = [
  { name: 'kind', label: 'Kind', options: KIND_OPTIONS },
  { name: 'state', label: 'State', options: JOB_STATE_OPTIONS },
  { ...ACCOUNT_FILTER, main: true },
  PARTNER_FILTER,
];

const COLUMNS: readonly Column<Job>[] = [
  {
    id: 'kind',
    header: 'Job',
    kind: 'main',
    cell: ({ job_id: jobId, kind }) => (
      <Link to="/jobs/$jobId" params={{ jobId }}>
        {kindText(kind)}
      </Link>
    ),
    text: ({ kind }) => kind,
  },
  {
    id: 'scope',
    header: 'Scope',
    cell: (job) => (
      <span>
        <Isolated of={scopeTexts(job)} />
      </span>
    ),
    text: (job) => scopeTexts(job).join(' · '),
  },
  {
    id: 'state',
    header: 'State',
    cell: (job) => (
      <span>
        <Badge state={job.state} />
        <small>{jobNote(job)}</small>
      </span>
    ),
    text: ({ state }) => state,
  },
  {
    id: 'progress',
    header: 'Progress',
    cell: (job) => <JobProgress job={job} />,
    text: ({ matched }) => matched,
  },
  { id: 'reason', header: 'Reason', text: ({ reason }) => reason },
  { id: 'actor', header: 'Started by', as: 'name', text: ({ actor }) => actor },
  {
    id: 'made',
    header: 'Started',
    as: 'time',
    text: ({ created_datetime: at }) => at,
  },
  {
    id: 'failed',
    header: 'Failed',
    hidden: true,
    kind: 'number',
    text: ({ failed }) => failed,
  },
  { id: 'id', header: 'Id', hidden: true, as: 'id', text: ({ job_id: id }) => id },
  {
    id: 'actions',
    header: 'Actions',
    cell: (job) => (
      <span className="actions">
        <JobActions job={job} small />
      </span>
    ),
  },
];

export function JobsPage() {
  const search = useSearch({ from: '/jobs' });
  useLive(['jobs'], [['jobs']]);
  return (
    <Page title="Jobs" lead="Resends, replays, resolutions and erasures by all operators, newest first.">
      <Filters of={FILTERS} />
      <List
        name="jobs"
        caption="Jobs, newest first"
        columns={COLUMNS}
        rowKey={({ job_id: id }) => id}
        queryKey={['jobs', 'list', search]}
        load={(cursor, signal) =>
          pageOf(api.GET('/admin/jobs', { params: { query: { ...(search as Query), cursor, limit: 50 } }, signal }))
        }
        empty="No matches."
      />
    </Page>
  );
}
