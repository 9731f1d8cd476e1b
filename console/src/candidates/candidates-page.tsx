import { Link, useSearch } from '@tanstack/react-router';
import { ACCOUNT_FILTER } from '../components/account-options';
import { api, pageOf, type Schemas } from '../api/client';
import { Filters, type Filter } from '../components/filters';
import { List } from '../components/list';
import { Page } from '../components/page';
import { Empty } from '../components/states';
import type { Column } from '../components/table';
import { nameOf } from './record-text';

type Found = Schemas['FoundEligibilityModel'];

const FILTERS: readonly Filter[] = [
  { name: 'q', label: 'Name, telephone, e-mail, id or code', main: true },
  ACCOUNT_FILTER,
];

const COLUMNS: readonly Column<Found>[] = [
  {
    id: 'candidate',
    header: 'Candidate',
    kind: 'main',
    cell: (record) => (
      <Link
        to="/candidates/$account/$candidate"
        params={{ account: record.account_code, candidate: record.candidate.candidate_id }}
      >
        <bdi>{nameOf(record.candidate)}</bdi>
      </Link>
    ),
    text: ({ candidate }) => nameOf(candidate),
  },
  {
    id: 'id',
    header: 'Candidate id',
    as: 'code',
    text: ({ candidate }) => candidate.candidate_id,
  },
  { id: 'test', header: 'Test', as: 'code', text: ({ test_code: code }) => code },
  { id: 'status', header: 'Status', as: 'badge', text: ({ status }) => status },
  {
    id: 'email',
    header: 'E-mail',
    text: ({ candidate }) => candidate.email,
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
    as: 'account',
    text: ({ account_code: code }) => code,
  },
  {
    id: 'record',
    header: 'Record',
    hidden: true,
    as: 'id',
    text: ({ svc_eligiblity_id: id }) => id,
  },
];

export function CandidatesPage() {
  const { q, account_code: account } = useSearch({ from: '/candidates' });
  return (
    <Page
      title="Candidates"
      lead="Search for a candidate by the beginning of any word of the name, or by telephone number, postal code, e-mail address, id or booking code."
    >
      <Filters of={FILTERS} />
      {q === undefined ? (
        <Empty>Type at least two characters.</Empty>
      ) : (
        <List
          name="candidates"
          caption="Matching records, newest first"
          columns={COLUMNS}
          rowKey={({ svc_eligiblity_id: id }) => id}
          queryKey={['candidates', q, account]}
          load={(cursor, signal) =>
            pageOf(
              api.GET('/admin/candidates', {
                params: { query: { q, account_code: account, cursor, limit: 50 } },
                signal,
              }),
            )
          }
          empty="No matches."
        />
      )}
    </Page>
  );
}
