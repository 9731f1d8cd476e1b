import './work.css';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useState, type FormEvent } from 'react';
import { AccountName, AccountNameInline } from '../components/account-name';
import { api, dataOf } from '../api/client';
import { ProblemError } from '../api/problem';
import { Badge } from '../components/badge';
import { Button } from '../components/button';
import { Code } from '../components/code';
import { confirm } from '../components/confirm';
import { TextField } from '../components/fields';
import { downloadFile } from '../components/list-csv';
import { Facts, Page, Section } from '../components/page';
import { Empty, Loading, Shown } from '../components/states';
import { Time } from '../components/time';
import { toast } from '../components/toast';
import { BookedTime } from '../candidates/booked-time';
import { nameOf } from '../candidates/record-text';
import { cluesOf, codeText, faultText, likenessText, type Likely, type Unmatched } from './unmatched-text';
import { useSettled } from './use-settled';

/**
 * Returns the result if it still waits for a decision, or else null. The photo and the link in the result are loaded
 * only on request, because loading them writes an audit entry.
 */
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
  return <UnmatchedItem id={id} />;
}

/** Shows an unmatched result on its own page, or beside the list. */
export function UnmatchedItem({ id }: { id: string }) {
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
        <Empty>
          This result is no longer in the list. It was accepted or rejected, or it was deleted 30 days after it was
          received.
        </Empty>
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
          The result will be removed from the list without being assigned to an exam. The service will delete the result
          30 days after it was received. No partner will be notified.
        </p>
      ),
      action: 'Reject',
      danger: true,
      reason: 'required',
      perform: (reason) =>
        api.POST('/admin/unmatched-results/{id}/reject', { params: { path: { id } }, body: { reason } }),
    });
    if (done) settled('The result was rejected.');
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
          ...cluesOf(result).map(([term, value]) => [term, <bdi key={term}>{value}</bdi>] as const),
          ['Received', <Time at={result.received_datetime} key="received" />],
          ['Sent by', <bdi key="user">{result.username}</bdi>],
          ['Account', result.account_code && <AccountName code={result.account_code} />],
        ]}
      />
      {result.faults.length > 0 && (
        <Section title="Errors">
          <ul>
            {result.faults.map(({ pointer, code }) => (
              <li key={`${pointer} ${code}`}>
                {pointer === '' ? 'The body' : <Code>{pointer}</Code>} {faultText(code)}
              </li>
            ))}
          </ul>
        </Section>
      )}
      <Section title="Likely candidates">
        <p className="hint">
          These candidates resemble the candidate in the result. The most likely candidate is listed first. The badges
          show which details match. You decide which candidate is the right one.
        </p>
        <Shown query={likely}>
          {(rows) =>
            rows.length === 0 ? (
              <Empty>No record resembles this result. If you know the exam, enter its code below.</Empty>
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
      <Section title="The result as it was delivered">
        {result.body === null ? (
          <RawBody id={id} />
        ) : (
          <pre className="panel" tabIndex={0} role="region" aria-label="The body">
            {JSON.stringify(result.body, null, 2)}
          </pre>
        )}
      </Section>
    </Page>
  );
}

/** Saves the received bytes of a result whose body is not a JSON object. Loading the bytes writes an audit entry. */
function RawBody({ id }: { id: string }) {
  async function save() {
    try {
      const params = { path: { id } };
      const answer = await api.GET('/admin/unmatched-results/{id}/raw', { params, parseAs: 'blob' });
      downloadFile(`unmatched-result-${id}`, answer.data as unknown as Blob);
    } catch (error) {
      toast(`The raw body could not be loaded: ${(error as Error).message}`, 'bad');
    }
  }
  return (
    <>
      <p>This result is not a JSON object, so it cannot be accepted. The raw body is kept exactly as received.</p>
      <p className="actions">
        <Button onPress={() => void save()}>Download the raw body</Button>
      </p>
    </>
  );
}

type Record = Likely['record'];

interface LikelyProps {
  id: string;
  likely: Likely;
  settled: (text: string) => void;
}

function LikelyExam({ id, likely: { record, because }, settled }: LikelyProps) {
  return (
    <li className="panel">
      <div>
        <Exam of={record} />
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
          onPress={() => void accept(id, record, settled)}
        >
          Accept …
        </Button>
      ) : (
        <span className="hint">This exam cannot receive a result</span>
      )}
    </li>
  );
}

/** Shows an exam to which the result may belong, with its candidate, state, test, account, time and place. */
function Exam({ of }: { of: Record }) {
  const { candidate, status, test_code, account_code, booking_on } = of;
  return (
    <>
      <strong>
        <bdi>{nameOf(candidate)}</bdi>
      </strong>{' '}
      <Badge state={status} />
      <p className="hint">
        <Code>{candidate.candidate_id}</Code> · <Code>{test_code}</Code> · <AccountNameInline code={account_code} />
        {candidate.email && ` · ${candidate.email}`}
      </p>
      <p>
        {booking_on === null ? (
          'Not booked'
        ) : (
          <>
            Booked for <BookedTime record={of} />
          </>
        )}
      </p>
    </>
  );
}

/** Shows a form that assigns the result to an exam that is not listed above, by one of the exam's codes. */
function Another({ id, settled }: Pick<LikelyProps, 'id' | 'settled'>) {
  const [code, setCode] = useState('');
  const [fault, setFault] = useState<string>();
  async function find(typed: string) {
    try {
      const params = { path: { id }, query: { code: typed } };
      const record = await dataOf(api.GET('/admin/unmatched-results/{id}/exam', { params }));
      await accept(id, record, settled);
    } catch (error) {
      const isUnknown = error instanceof ProblemError && error.status === 404;
      setFault(isUnknown ? 'No exam has this code.' : (error as Error).message);
    }
  }
  function submit(event: FormEvent) {
    event.preventDefault();
    setFault(undefined);
    if (code.trim() !== '') void find(code.trim());
  }
  return (
    <form className="filters" onSubmit={submit}>
      <TextField
        label="Booking code, record id or client eligibility id of another exam"
        value={code}
        onChange={setCode}
        maxLength={50}
        fault={fault}
      />
      <Button type="submit">Accept for this exam …</Button>
    </form>
  );
}

async function accept(id: string, record: Record, settled: (text: string) => void) {
  const { svc_eligiblity_id } = record;
  const done = await confirm({
    title: 'Accept the result?',
    text: (
      <>
        <Exam of={record} />
        <p>
          The result will be stored as if the test driver had sent it for this exam. If the exam has no result yet, the
          record will be completed and the partners will be notified.
        </p>
      </>
    ),
    action: 'Accept',
    reason: 'optional',
    perform: (reason) =>
      api.POST('/admin/unmatched-results/{id}/accept', {
        params: { path: { id } },
        body: { svc_eligiblity_id, ...(reason !== '' && { reason }) },
      }),
  });
  if (done) settled('The result was accepted.');
}
