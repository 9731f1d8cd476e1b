import { queryOptions, usePrefetchInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link, useSearch } from '@tanstack/react-router';
import { ACCOUNT_FILTER } from '../components/account-options';
import { api, dataOf, pageOf, type Schemas } from '../api/client';
import { listQuery, type ListSource } from '../api/list-query';
import { useScopes } from '../api/session';
import { Badge } from '../components/badge';
import { Copyable } from '../components/copy';
import { Filters, type Filter } from '../components/filters';
import { List } from '../components/list';
import { Facts, Page, Section } from '../components/page';
import { isFirstAwaited, Shown } from '../components/states';
import type { Column } from '../components/table';
import { Time } from '../components/time';

type Row = Schemas['AuditEntryModel'];

const FILTERS: readonly Filter[] = [
  { name: 'subject', label: 'Subject', main: true },
  { name: 'actor', label: 'Actor' },
  { name: 'action', label: 'Action' },
  ACCOUNT_FILTER,
  { name: 'from', label: 'Time from', type: 'moment' },
  { name: 'to', label: 'Time before', type: 'moment' },
];

const COLUMNS: readonly Column<Row>[] = [
  { id: 'at', header: 'When', as: 'exact', text: ({ at }) => at },
  {
    id: 'action',
    header: 'What',
    kind: 'main',
    cell: ({ action, count }) => (
      <>
        <Link to="/audit" search={{ action }}>
          {action}
        </Link>
        {count != null && count > 1 && <small>{count} times</small>}
      </>
    ),
    text: ({ action }) => action,
  },
  {
    id: 'subject',
    header: 'Subject',
    cell: ({ subject }) => (
      <Link to="/audit" search={{ subject }}>
        <bdi>{subject}</bdi>
      </Link>
    ),
    text: ({ subject }) => subject,
  },
  {
    id: 'actor',
    header: 'Who',
    cell: ({ actor, application }) => (
      <>
        <Link to="/audit" search={{ actor }}>
          <bdi>{actor}</bdi>
        </Link>
        {application && (
          <small>
            <bdi>{application}</bdi>
          </small>
        )}
      </>
    ),
    text: ({ actor }) => actor,
  },
  {
    id: 'changed',
    header: 'Changed',
    text: ({ changed }) => changed.join(', '),
  },
  {
    id: 'account',
    header: 'Account',
    as: 'account',
    text: ({ account_code: code }) => code,
  },
  {
    id: 'request',
    header: 'Request id',
    hidden: true,
    as: 'id',
    text: ({ request_id: id }) => id,
  },
  { id: 'address', header: 'Address', hidden: true, text: ({ address }) => address },
  { id: 'id', header: 'Row', hidden: true, kind: 'number', text: ({ id }) => id },
];

export function AuditPage() {
  const search = useSearch({ from: '/audit' });
  const isAdmin = useScopes().includes('admin');
  const seals = useQuery({ ...sealsQuery, enabled: isAdmin });
  const rows: ListSource<Row> = {
    queryKey: ['audit', search],
    load: (cursor, signal) =>
      pageOf(api.GET('/admin/audit', { params: { query: { ...search, cursor, limit: 50 } }, signal })),
  };
  // The rows are loaded immediately, but rendered only after the content above them. Otherwise, this content would move
  // the rows when it appears.
  usePrefetchInfiniteQuery(listQuery(rows));
  return (
    <Page
      title="Audit"
      lead="This log lists every action and who performed it, newest first. It shows which fields were changed, but not their values."
    >
      {isAdmin && <Seals />}
      {!(isAdmin && isFirstAwaited(seals)) && (
        <Section title="Rows">
          <Filters of={FILTERS} />
          <List
            name="audit"
            caption="Audit rows, newest first"
            columns={COLUMNS}
            rowKey={({ id }) => String(id)}
            {...rows}
            empty="No entries match these filters. Clear a filter to see more."
          />
        </Section>
      )}
    </Page>
  );
}

const sealsQuery = queryOptions({
  queryKey: ['audit-seals'],
  queryFn: ({ signal }) => dataOf(api.GET('/admin/audit/seals', { signal })),
  refetchInterval: 30_000,
});

function Seals() {
  const query = useQuery(sealsQuery);
  return (
    <Section title="Seals">
      <Shown query={query}>
        {(seals) => (
          <>
            {!seals.agrees && (
              <p className="note bad" role="alert">
                <strong>From row {seals.from_row} on, the audit log does not match its seals.</strong> {seals.because}.
                The log was changed directly in the database. Follow the runbook entry AuditRewritten.
              </p>
            )}
            <Facts
              of={[
                [
                  'State',
                  seals.agrees ? (
                    <Badge state="AGREES" tone="good" key="state" />
                  ) : (
                    <Badge state="DISAGREES" tone="bad" key="state" />
                  ),
                ],
                [
                  'Compared just now',
                  `${seals.checked_seals} newest seals, ${seals.checked_rows.toLocaleString('en')} rows`,
                ],
                ['Sealed up to row', seals.sealed_through?.toLocaleString('en')],
                ['Last seal created', <Time at={seals.last_seal_datetime} key="made" />],
                ['Rows without a seal', seals.waiting === 0 ? 'None' : seals.waiting.toLocaleString('en')],
                [
                  'Last seal',
                  seals.last_seal && (
                    <Copyable key="seal" text={seals.last_seal} shown={`${seals.last_seal.slice(0, 16)}…`} />
                  ),
                ],
              ]}
            />
            <p className="hint">
              <code>npm run admin -- verify-audit</code> compares every row with the seals.
            </p>
          </>
        )}
      </Shown>
    </Section>
  );
}
