import { Link, useSearch } from '@tanstack/react-router';
import type { RowSelectionState } from '@tanstack/react-table';
import { useState } from 'react';
import { AccountNameInline } from '../components/account-name';
import { ACCOUNT_FILTER } from '../components/account-options';
import { api, pageOf } from '../api/client';
import { useLive } from '../api/live';
import { Badge } from '../components/badge';
import { Chosen } from '../components/chosen';
import { Code } from '../components/code';
import { Filters, type Filter } from '../components/filters';
import { partsOf, type Items } from '../components/items';
import { later } from '../components/later';
import { List } from '../components/list';
import { Page } from '../components/page';
import type { Column } from '../components/table';
import { Accommodations } from '../candidates/accommodations';
import { accommodationNames, nameOf, type CandidateRecord } from '../candidates/record-text';
import { useDecided } from '../candidates/use-decided';
import { APPROVAL_ACTIONS, Decide, HOLD_ACTIONS, Release } from './decisions';
import { WorkNav } from './work-nav';

const FILTERS: readonly Filter[] = [{ ...ACCOUNT_FILTER, main: true }];

const CANDIDATE: Column<CandidateRecord> = {
  id: 'candidate',
  header: 'Candidate',
  kind: 'main',
  cell: ({ candidate, account_code: account }) => (
    <>
      <Link to="/candidates/$account/$candidate" params={{ account, candidate: candidate.candidate_id }}>
        <bdi>{nameOf(candidate)}</bdi>
      </Link>
      <small>
        <Code>{candidate.candidate_id}</Code>
      </small>
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
        <Code>{code}</Code>
        <small>
          <AccountNameInline code={account} />
        </small>
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
    as: 'id',
    text: ({ svc_eligiblity_id: id }) => id,
  },
];

const APPROVALS: readonly Column<CandidateRecord>[] = [
  CANDIDATE,
  {
    id: 'accommodations',
    header: 'Accommodations',
    cell: (record) => (
      <span>
        <Accommodations of={record} />
        <small>{record.accommodations.map(({ accommodation_code: code }) => code).join(', ')}</small>
        {record.hold_reason !== null && <small>Also on hold: {record.hold_reason}</small>}
      </span>
    ),
    text: (record) => accommodationNames(record).join(', '),
  },
  ...COMMON,
  { id: 'do', header: 'Action', cell: (record) => <Decide record={record} /> },
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
            <Badge state="WAITING">Also waiting for approval</Badge>
          </small>
        )}
      </span>
    ),
    text: ({ hold_reason: reason }) => reason,
  },
  ...COMMON,
  { id: 'do', header: 'Action', cell: (record) => <Release record={record} /> },
];

/** The candidates of the records. A candidate opens beside the list. */
const CANDIDATES: Items<CandidateRecord> = {
  idOf: ({ account_code: account, candidate }) => `${account}/${candidate.candidate_id}`,
  pageOf: (id) => {
    const [account, candidate] = partsOf(id);
    return { to: '/candidates/$account/$candidate', params: { account, candidate } };
  },
  load: later(async () => (await import('../candidates/candidate-page')).CandidateItem),
};

export function ApprovalsPage() {
  const { open, ...search } = useSearch({ from: '/work/approvals' });
  const [chosen, setChosen] = useState<RowSelectionState>({});
  const decided = useDecided();
  useLive(['waiting'], [['waiting']]);
  return (
    <Page
      title="Approvals"
      trail={<WorkNav />}
      lead="The special accommodations of these records are waiting for approval. No exam can be booked for a record until its accommodations are approved."
    >
      <Filters of={FILTERS} />
      <List
        name="approvals"
        caption="Records waiting for approval, newest first"
        columns={APPROVALS}
        rowKey={({ svc_eligiblity_id: id }) => id}
        items={CANDIDATES}
        queryKey={['waiting', 'APPROVAL', search]}
        load={loadWaiting('APPROVAL', search)}
        selection={{ rows: chosen, onChange: setChosen, label: 'Select' }}
        empty="No record is waiting for approval."
        emptyIsGood={search.account_code === undefined}
      />
      <Chosen
        ids={Object.keys(chosen)}
        nouns={['record', 'records']}
        actions={APPROVAL_ACTIONS}
        clear={() => setChosen({})}
        done={() => void decided()}
      />
    </Page>
  );
}

export function HoldsPage() {
  const { open, ...search } = useSearch({ from: '/work/holds' });
  const [chosen, setChosen] = useState<RowSelectionState>({});
  const decided = useDecided();
  useLive(['waiting'], [['waiting']]);
  return (
    <Page
      title="Holds"
      trail={<WorkNav />}
      lead="Operators have put these records on hold. Each record shows the reason."
    >
      <Filters of={FILTERS} />
      <List
        name="holds"
        caption="Records on hold, newest first"
        columns={HOLDS}
        rowKey={({ svc_eligiblity_id: id }) => id}
        items={CANDIDATES}
        queryKey={['waiting', 'HOLD', search]}
        load={loadWaiting('HOLD', search)}
        selection={{ rows: chosen, onChange: setChosen, label: 'Select' }}
        empty="No record is on hold."
        emptyIsGood={search.account_code === undefined}
      />
      <Chosen
        ids={Object.keys(chosen)}
        nouns={['record', 'records']}
        actions={HOLD_ACTIONS}
        clear={() => setChosen({})}
        done={() => void decided()}
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
