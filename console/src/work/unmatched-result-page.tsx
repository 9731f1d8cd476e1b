import './work.css';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState, type FormEvent } from 'react';
import { api, dataOf } from '../api/client';
import { ProblemError } from '../api/problem';
import { Badge } from '../components/badge';
import { Button } from '../components/button';
import { confirm } from '../components/confirm';
import { TextField } from '../components/fields';
import { Facts, Page, Section } from '../components/page';
import { Empty, Loading, Shown } from '../components/states';
import { Time } from '../components/time';
import { toast } from '../components/toast';
import { nameOf } from '../candidates/record-text';
import { cluesOf, codeText, likenessText, type Likely, type Unmatched } from './unmatched-text';

/** Null when it waits no more. Without photo and link: reading those leaves an audit row, which is for whoever asks for them. */
async function findWaiting(id: string, signal: AbortSignal): Promise<Unmatched | null> {
  const params = { path: { id }, query: { media: 'false' } } as const;
  try {
    const result = await dataOf(api.GET('/admin/unmatched-results/{id}', { params, signal }));
    return result.accepted_datetime == null && result.rejected_datetime == null ? result : null;
  } catch (error) {
    if (error instanceof ProblemError && error.status === 404) return null;
    throw error;
  }
}

export function UnmatchedResultPage() {
  const { id } = useParams({ from: '/work/unmatched/$id' });
  const result = useQuery({ queryKey: ['unmatched', id], queryFn: ({ signal }) => findWaiting(id, signal) });
  const trail = <Link to="/work/unmatched">Unmatched results</Link>;
  if (result.data === undefined)
    return (
      <Page title="Unmatched result" trail={trail}>
        <Shown query={result}>{() => <Loading />}</Shown>
      </Page>
    );
  if (result.data === null)
    return (
      <Page title="Unmatched result" trail={trail}>
        <Empty>This result waits for nobody: it was accepted or rejected, or its 30 days are over.</Empty>
      </Page>
    );
  return <Waiting result={result.data} />;
}

function Waiting({ result }: { result: Unmatched }) {
  const { id } = result;
  const settled = useSettled();
  const likely = useQuery({
    queryKey: ['unmatched', id, 'candidates'],
    queryFn: ({ signal }) =>
      dataOf(api.GET('/admin/unmatched-results/{id}/candidates', { params: { path: { id } }, signal })),
  });

  async function reject() {
    const done = await confirm({
      title: 'Reject this result?',
      text: (
        <p>
          It belongs to no exam and leaves the list. It is kept for the rest of its 30 days, and no candidate is told.
        </p>
      ),
      action: 'Reject',
      danger: true,
      reason: 'required',
      perform: (reason) =>
        api.POST('/admin/unmatched-results/{id}/reject', { params: { path: { id } }, body: { reason } }),
    });
    if (done) settled('Rejected.');
  }

  return (
    <Page
      title="Unmatched result"
      badge={<Badge state="WAITING" />}
      trail={<Link to="/work/unmatched">Unmatched results</Link>}
      lead={codeText(result.code)}
      actions={
        <Button kind="danger" onPress={() => void reject()}>
          Reject …
        </Button>
      }
    >
      <Facts
        of={[
          ...cluesOf(result),
          ['Received', <Time at={result.received_datetime} key="received" />],
          ['From', result.username],
          ['Account', result.account_code],
        ]}
      />
      <Section title="Likely candidates">
        <p className="hint">What they have in common is shown; none of it decides. The likeliest first.</p>
        <Shown query={likely}>
          {(rows) =>
            rows.length === 0 ? (
              <Empty>No record resembles it. Name the exam below if you know it.</Empty>
            ) : (
              <ul className="likely">
                {rows.map((one) => (
                  <LikelyExam key={one.record.svc_eligiblity_id} id={id} likely={one} settled={settled} />
                ))}
              </ul>
            )
          }
        </Shown>
        <Another id={id} settled={settled} />
      </Section>
      <Section title="As it was delivered">
        <pre className="panel" tabIndex={0} role="region" aria-label="The body">
          {result.body === null
            ? 'No JSON object. Its bytes are read through the API.'
            : JSON.stringify(result.body, null, 2)}
        </pre>
      </Section>
    </Page>
  );
}

function useSettled(): (text: string) => void {
  const queries = useQueryClient();
  const navigate = useNavigate();
  return (text) => {
    toast(text);
    void queries.invalidateQueries({ queryKey: ['unmatched'] });
    void queries.invalidateQueries({ queryKey: ['overview'] });
    void navigate({ to: '/work/unmatched' });
  };
}

interface LikelyProps {
  id: string;
  likely: Likely;
  settled: (text: string) => void;
}

function LikelyExam({ id, likely: { record, because }, settled }: LikelyProps) {
  const { svc_eligiblity_id: svc, test_code: test, booking_on: on, account_code: account } = record;
  return (
    <li className="panel">
      <div>
        <strong>{nameOf(record.candidate)}</strong> <Badge state={record.status} />
        <p className="hint">
          {record.candidate.candidate_id} · {test} · {account}
          {record.candidate.email && ` · ${record.candidate.email}`}
        </p>
        <p>
          {on === null ? (
            'Not booked'
          ) : (
            <>
              Booked for <Time at={on} />
            </>
          )}
        </p>
        <p className="actions">
          {because.map((likeness) => (
            <Badge key={likeness} state={likenessText(likeness)} tone="good" />
          ))}
        </p>
      </div>
      {record.allows.includes('RESULT') || record.status === 'COMPLETED' ? (
        <Button
          kind="primary"
          aria-label={`Accept for ${nameOf(record.candidate)}`}
          onPress={() => void accept(id, { svc_eligiblity_id: svc }, `${nameOf(record.candidate)}, ${test}`, settled)}
        >
          Accept …
        </Button>
      ) : (
        <span className="hint">Takes no result</span>
      )}
    </li>
  );
}

/** The exam is known otherwise: by the code of its booking. */
function Another({ id, settled }: Pick<LikelyProps, 'id' | 'settled'>) {
  const [code, setCode] = useState('');
  function submit(event: FormEvent) {
    event.preventDefault();
    const known = code.trim().toUpperCase();
    if (known === '') return;
    // Ids of records are shorter than codes of bookings.
    const exam = known.length <= 8 ? { svc_eligiblity_id: known } : { booking_code: known };
    void accept(id, exam, known, settled);
  }
  return (
    <form className="filters" onSubmit={submit}>
      <TextField label="Booking code or record id of another exam" value={code} onChange={setCode} maxLength={50} />
      <Button type="submit">Accept for it …</Button>
    </form>
  );
}

type Exam = { svc_eligiblity_id: string } | { booking_code: string };

async function accept(id: string, exam: Exam, name: string, settled: (text: string) => void) {
  const done = await confirm({
    title: 'Accept the result?',
    text: (
      <p>
        For {name}: as if the driver’s call had found it. The first result of an exam completes its record and tells the
        partners.
      </p>
    ),
    action: 'Accept',
    perform: () => api.POST('/admin/unmatched-results/{id}/accept', { params: { path: { id } }, body: exam }),
  });
  if (done) settled('Accepted.');
}
