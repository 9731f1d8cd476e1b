import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, dataOf, type Schemas } from '../api/client';
import { Button } from '../components/button';
import { confirm } from '../components/confirm';
import { Dialog } from '../components/dialog';
import { List } from '../components/list';
import { Section } from '../components/page';
import { isFirstAwaited, Loading, Shown } from '../components/states';
import { Table, type Column } from '../components/table';
import { Time } from '../components/time';
import { NOTIFICATION_COLUMNS } from '../notification/columns';
import { eventText } from '../notification/words';
import { auditOf, candidateQueries, notificationsOf, type CandidatePath } from './candidate-queries';

interface Props {
  path: CandidatePath;
}

/**
 * Shows the candidate's whole history. All parts of the history are fetched at once and shown together. Otherwise, a
 * part that arrives late would move the others.
 */
export function Histories({ path }: Props) {
  const parts = candidateQueries(path);
  const all = [
    useQuery(parts.bookings),
    useQuery(parts.results),
    useQuery(parts.changes),
    useInfiniteQuery(parts.notifications),
    useInfiniteQuery(parts.audit),
  ];
  if (all.some(isFirstAwaited)) return <Loading />;
  return (
    <>
      <Bookings path={path} />
      <Results path={path} />
      <Notifications path={path} />
      <Changes path={path} />
      <Audit path={path} />
    </>
  );
}

const BOOKINGS: readonly Column<Schemas['BookingModel']>[] = [
  {
    id: 'code',
    header: 'Booking',
    kind: 'main',
    cell: ({ booking_code: code, test_code: test }) => (
      <>
        {code}
        <small>{test}</small>
      </>
    ),
    text: ({ booking_code: code }) => code,
  },
  { id: 'status', header: 'Status', as: 'badge', text: ({ status }) => status },
  {
    id: 'on',
    header: 'Exam',
    cell: ({ booking_on: at, location_timezone: zone }) => <Time at={at} zone={zone} />,
    text: ({ booking_on: at }) => at,
  },
  {
    id: 'place',
    header: 'Where',
    cell: ({ location_name: name, location_code: code, delivery_mode: mode }) =>
      name ?? code ?? (mode === null ? <span className="nothing">–</span> : eventText(mode)),
    text: ({ location_name: name, location_code: code }) => name ?? code,
  },
  {
    id: 'made',
    header: 'Booked on',
    as: 'time',
    text: ({ created_datetime: at }) => at,
  },
];

function Bookings({ path }: Props) {
  const bookings = useQuery(candidateQueries(path).bookings);
  return (
    <Section title="Bookings">
      <Shown query={bookings}>
        {(rows) => (
          <Table
            name="candidate-bookings"
            caption="Bookings, newest first"
            columns={BOOKINGS}
            rowKey={({ booking_code: code }) => code}
            rows={rows}
            empty="No bookings."
          />
        )}
      </Shown>
    </Section>
  );
}

type ResultSummary = Schemas['ResultSummaryModel'];

function Results({ path }: Props) {
  const [shown, setShown] = useState<{ result: ResultSummary; media: boolean } | null>(null);
  const results = useQuery(candidateQueries(path).results);

  async function showMedia(result: ResultSummary) {
    const done = await confirm({
      title: 'Show photo and video link?',
      text: 'The audit log records that you viewed them.',
      action: 'Show',
      perform: () => Promise.resolve(),
    });
    if (done) setShown({ result, media: true });
  }

  const columns: readonly Column<ResultSummary>[] = [
    {
      id: 'test',
      header: 'Test',
      kind: 'main',
      cell: ({ test_code: test, revision }) => (
        <>
          {test}
          <small>revision {revision}</small>
        </>
      ),
      text: ({ test_code: test }) => test,
    },
    {
      id: 'received',
      header: 'Received',
      as: 'time',
      text: ({ received_datetime: at }) => at,
    },
    { id: 'from', header: 'Sent by', text: ({ username }) => username },
    {
      id: 'kind',
      header: 'Kind',
      cell: ({ simulated }) => (simulated ? 'Simulated exam' : 'Real exam'),
      text: ({ simulated }) => (simulated ? 'simulated exam' : 'real exam'),
    },
    {
      id: 'show',
      header: 'Actions',
      cell: (result) => (
        <span className="actions">
          <Button small onPress={() => setShown({ result, media: false })}>
            Show
          </Button>
          {(result.has_photo || result.has_video_link) && (
            <Button small onPress={() => void showMedia(result)}>
              Photo and link …
            </Button>
          )}
        </span>
      ),
    },
  ];
  return (
    <Section title="Results">
      <Shown query={results}>
        {(rows) => (
          <Table
            name="candidate-results"
            caption="Results, newest first"
            columns={columns}
            rowKey={({ svc_eligiblity_id: id, revision }) => `${id} ${revision}`}
            rows={rows}
            empty="No results."
          />
        )}
      </Shown>
      {shown && <ResultDialog {...shown} onClose={() => setShown(null)} />}
    </Section>
  );
}

function ResultDialog({ result, media, onClose }: { result: ResultSummary; media: boolean; onClose: () => void }) {
  const { svc_eligiblity_id: id, revision, test_code: test } = result;
  const found = useQuery({
    queryKey: ['result', id, revision, media],
    gcTime: 0,
    staleTime: Infinity,
    queryFn: ({ signal }) =>
      dataOf(
        api.GET('/admin/eligibilities/{svc_id}/results/{revision}', {
          params: { path: { svc_id: id, revision: String(revision) }, query: media ? { media: 'true' } : {} },
          signal,
        }),
      ),
  });
  return (
    <Dialog title={`Result of ${test}, revision ${revision}`} onClose={onClose}>
      <Shown query={found}>
        {({ body }) => (
          <pre className="result" tabIndex={0} aria-label="Result">
            {JSON.stringify(body, null, 2)}
          </pre>
        )}
      </Shown>
      <div className="actions end">
        <Button onPress={onClose}>Close</Button>
      </div>
    </Dialog>
  );
}

function Notifications({ path }: Props) {
  return (
    <Section title="Notifications">
      <List
        name="candidate-notifications"
        caption="Notifications, newest first"
        columns={NOTIFICATION_COLUMNS}
        rowKey={({ id }) => id}
        {...notificationsOf(path)}
        empty="No notifications."
      />
    </Section>
  );
}

const CHANGES: readonly Column<Schemas['ChangeModel']>[] = [
  {
    id: 'change',
    header: 'Change',
    kind: 'main',
    cell: ({ change, kind }) => (
      <>
        {eventText(change)}
        <small>{kind.toLowerCase()}</small>
      </>
    ),
    text: ({ change }) => change,
  },
  { id: 'test', header: 'Test', text: ({ test_code: test }) => test },
  { id: 'status', header: 'Status after', as: 'badge', text: ({ status }) => status },
  {
    id: 'booking',
    header: 'Booking',
    text: ({ booking_code: code }) => code,
  },
  { id: 'at', header: 'When', as: 'time', text: ({ at }) => at },
];

function Changes({ path }: Props) {
  const changes = useQuery(candidateQueries(path).changes);
  return (
    <Section title="Changes">
      <Shown query={changes}>
        {(rows) => (
          <Table
            name="candidate-changes"
            caption="Changes, newest first"
            columns={CHANGES}
            rowKey={({ id }) => id}
            rows={rows}
            empty="No changes."
          />
        )}
      </Shown>
    </Section>
  );
}

const AUDIT: readonly Column<Schemas['AuditEntryModel']>[] = [
  { id: 'action', header: 'Action', kind: 'main', text: ({ action }) => action },
  { id: 'actor', header: 'By', text: ({ actor }) => actor },
  {
    id: 'changed',
    header: 'Changed',
    text: ({ changed }) => changed.join(', '),
  },
  { id: 'at', header: 'When', as: 'time', text: ({ at }) => at },
  { id: 'subject', header: 'Subject', hidden: true, text: ({ subject }) => subject },
];

function Audit({ path }: Props) {
  return (
    <Section title="Audit">
      <List
        name="candidate-audit"
        caption="Audit entries, newest first"
        columns={AUDIT}
        rowKey={({ id }) => String(id)}
        {...auditOf(path)}
        empty="No entries."
      />
    </Section>
  );
}
