import { useQueryClient } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { ACCOUNT_FILTER } from '../components/account-options';
import { api, pageOf } from '../api/client';
import { useLive } from '../api/live';
import { Badge } from '../components/badge';
import { Button } from '../components/button';
import { confirm } from '../components/confirm';
import { Filters, type Filter } from '../components/filters';
import { List } from '../components/list';
import { Page } from '../components/page';
import type { Column } from '../components/table';
import { toast } from '../components/toast';
import { nameOf, type CandidateRecord } from '../candidates/record-text';
import { WorkNav } from './work-nav';

const FILTERS: readonly Filter[] = [{ ...ACCOUNT_FILTER, main: true }];

const CANDIDATE: Column<CandidateRecord> = {
  id: 'candidate',
  header: 'Candidate',
  kind: 'main',
  cell: (record) => (
    <>
      {nameOf(record.candidate)}
      <small>{record.candidate.candidate_id}</small>
    </>
  ),
  text: (record) => `${nameOf(record.candidate)} (${record.candidate.candidate_id})`,
};
const COMMON: readonly Column<CandidateRecord>[] = [
  {
    id: 'test',
    header: 'Test',
    cell: ({ test_code: code, account_code: account }) => (
      <>
        {code}
        <small>{account}</small>
      </>
    ),
    text: ({ test_code: code }) => code,
  },
  {
    id: 'end',
    header: 'Scheduling until',
    as: 'time',
    text: ({ eligibility_end_date: at }) => at,
  },
  {
    id: 'created',
    header: 'Created',
    as: 'time',
    text: ({ created_datetime: at }) => at,
  },
  {
    id: 'account',
    header: 'Account',
    hidden: true,
    as: 'account',
    text: ({ account_code: code }) => code,
  },
  {
    id: 'svc',
    header: 'Record id',
    hidden: true,
    as: 'code',
    text: ({ svc_eligiblity_id: id }) => id,
  },
];

const APPROVALS: readonly Column<CandidateRecord>[] = [
  CANDIDATE,
  {
    id: 'accommodations',
    header: 'Accommodations',
    cell: ({ candidate, hold_reason: held }) => (
      <span>
        {candidate.special_accommodations?.join(', ')}
        {held !== null && <small>Also on hold: {held}</small>}
      </span>
    ),
    text: ({ candidate }) => candidate.special_accommodations?.join(' '),
  },
  ...COMMON,
  { id: 'do', header: 'Action', cell: (record) => <Approve record={record} /> },
];

const HOLDS: readonly Column<CandidateRecord>[] = [
  CANDIDATE,
  {
    id: 'reason',
    header: 'Reason for the hold',
    cell: ({ hold_reason: reason, approval_pending: approval }) => (
      <span>
        {reason}
        {approval && (
          <small>
            <Badge state="WAITING" /> also waiting for approval
          </small>
        )}
      </span>
    ),
    text: ({ hold_reason: reason }) => reason,
  },
  ...COMMON,
  { id: 'do', header: 'Action', cell: (record) => <Release record={record} /> },
];

/** Returns a function that refetches the lists of waiting records after an operator's decision. */
function useDecided(): () => void {
  const queries = useQueryClient();
  return () => {
    void queries.invalidateQueries({ queryKey: ['waiting'] });
    void queries.invalidateQueries({ queryKey: ['overview'] });
  };
}

function Approve({ record }: { record: CandidateRecord }) {
  const decided = useDecided();
  const { svc_eligiblity_id: svc_id, candidate, test_code: test } = record;
  async function ask() {
    const done = await confirm({
      title: `Approve the accommodations of ${nameOf(record.candidate)}?`,
      text: (
        <p>
          {candidate.special_accommodations?.join(', ')} for the test {test}.{' '}
          {record.hold_reason === null
            ? 'The record becomes ELIGIBLE and can be booked in its scheduling window.'
            : 'The accommodations are approved. The record stays on hold.'}
        </p>
      ),
      action: 'Approve',
      perform: () => api.POST('/admin/eligibilities/{svc_id}/approve-accommodations', { params: { path: { svc_id } } }),
    });
    if (!done) return;
    toast('The accommodations are approved.');
    decided();
  }
  return (
    <Button small onPress={() => void ask()} aria-label={`Approve the accommodations of ${nameOf(record.candidate)}`}>
      Approve …
    </Button>
  );
}

function Release({ record }: { record: CandidateRecord }) {
  const decided = useDecided();
  const { svc_eligiblity_id: svc_id, hold_reason: reason } = record;
  async function ask() {
    const done = await confirm({
      title: `Release the record of ${nameOf(record.candidate)}?`,
      text: (
        <p>
          Reason for the hold: {reason}.{' '}
          {record.approval_pending
            ? 'The hold is released. The record still waits for approval.'
            : 'The record becomes ELIGIBLE and can be booked in its scheduling window.'}
        </p>
      ),
      action: 'Release',
      perform: () => api.POST('/admin/eligibilities/{svc_id}/release', { params: { path: { svc_id } } }),
    });
    if (!done) return;
    toast('The hold is released.');
    decided();
  }
  return (
    <Button small onPress={() => void ask()} aria-label={`Release the record of ${nameOf(record.candidate)}`}>
      Release …
    </Button>
  );
}

export function ApprovalsPage() {
  const search = useSearch({ from: '/work/approvals' });
  useLive(['waiting'], [['waiting']]);
  return (
    <Page
      title="Approvals"
      trail={<WorkNav />}
      lead="The special accommodations of these records wait for approval. A record cannot be booked until its accommodations are approved."
    >
      <Filters of={FILTERS} />
      <List
        name="approvals"
        caption="Records that wait for approval, newest first"
        columns={APPROVALS}
        rowKey={({ svc_eligiblity_id: id }) => id}
        queryKey={['waiting', 'APPROVAL', search]}
        load={loadWaiting('APPROVAL', search)}
        empty="No record is waiting for approval."
        emptyIsGood={search.account_code === undefined}
      />
    </Page>
  );
}

export function HoldsPage() {
  const search = useSearch({ from: '/work/holds' });
  useLive(['waiting'], [['waiting']]);
  return (
    <Page
      title="Holds"
      trail={<WorkNav />}
      lead="An operator has put these records on hold. Each record shows the reason."
    >
      <Filters of={FILTERS} />
      <List
        name="holds"
        caption="Records on hold, newest first"
        columns={HOLDS}
        rowKey={({ svc_eligiblity_id: id }) => id}
        queryKey={['waiting', 'HOLD', search]}
        load={loadWaiting('HOLD', search)}
        empty="No record is on hold."
        emptyIsGood={search.account_code === undefined}
      />
    </Page>
  );
}

function loadWaiting(waiting_for: 'APPROVAL' | 'HOLD', search: { account_code?: string }) {
  return (cursor: string | undefined, signal: AbortSignal) =>
    pageOf(
      api.GET('/admin/eligibilities', { params: { query: { waiting_for, ...search, cursor, limit: 50 } }, signal }),
    );
}
