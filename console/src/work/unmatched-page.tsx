import { Link } from '@tanstack/react-router';
import { api, pageOf } from '../api/client';
import { useLive } from '../api/live';
import type { Items } from '../components/items';
import { later } from '../components/later';
import { List } from '../components/list';
import { Page } from '../components/page';
import type { Column } from '../components/table';
import { cluesOf, codeText, type Unmatched } from './unmatched-text';
import { WorkNav } from './work-nav';

const COLUMNS: readonly Column<Unmatched>[] = [
  {
    id: 'about',
    header: 'Result',
    kind: 'main',
    cell: (result) => (
      <Link to="/work/unmatched/$id" params={{ id: result.id }}>
        <bdi>{aboutOf(result)}</bdi>
      </Link>
    ),
    text: aboutOf,
  },
  { id: 'code', header: 'Reason', cell: ({ code }) => codeText(code), text: ({ code }) => code },
  {
    id: 'received',
    header: 'Received',
    as: 'time',
    text: ({ received_datetime: at }) => at,
  },
  {
    id: 'driver',
    header: 'Sent by',
    cell: ({ username, source }) => (
      <>
        <bdi>{username}</bdi>
        <small>{source === 'ACCOUNT' ? 'for an account' : 'by registration'}</small>
      </>
    ),
    text: ({ username }) => username,
  },
  {
    id: 'account',
    header: 'Account',
    as: 'account',
    text: ({ account_code: code }) => code,
  },
];

function aboutOf(result: Unmatched): string {
  const clues = new Map(cluesOf(result));
  const known = [clues.get('Name') ?? clues.get('Candidate id'), clues.get('Exam code')].filter(Boolean);
  return known.length > 0 ? known.join(', ') : 'A result without a candidate';
}

const RESULTS: Items<Unmatched> = {
  idOf: ({ id }) => id,
  pageOf: (id) => ({ to: '/work/unmatched/$id', params: { id } }),
  load: later(async () => (await import('./unmatched-result-page')).UnmatchedItem),
};

export function UnmatchedPage() {
  useLive(['unmatched'], [['unmatched']]);
  return (
    <Page
      title="Unmatched results"
      trail={<WorkNav />}
      lead="These results could not be matched to an exam. Assign each result to the right exam, or reject the result. Unmatched results are kept for 30 days."
    >
      <List
        name="unmatched-results"
        caption="Unmatched results, newest first"
        columns={COLUMNS}
        rowKey={({ id }) => id}
        items={RESULTS}
        queryKey={['unmatched']}
        load={(cursor, signal) =>
          pageOf(api.GET('/admin/unmatched-results', { params: { query: { cursor, limit: 50 } }, signal }))
        }
        empty="There are no unmatched results."
        emptyIsGood
      />
    </Page>
  );
}
