import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, dataOf, type Schemas } from '../api/client';
import { Button } from '../components/button';
import { Select } from '../components/fields';
import { Section } from '../components/page';
import { ProblemNote } from '../components/states';
import { CHANGE_REASON_OPTIONS } from '../notification/words';
import { SampleReport } from './sample-report';

type ChangeReason = Schemas['SampleReport']['change_reason'];

/** A sample of any change, and a report of each step of its way. */
export function SampleSection({ subscription: { id, state } }: { subscription: Schemas['SubscriptionModel'] }) {
  const [reason, setReason] = useState<ChangeReason>('BOOKING_CREATED');
  const [report, setReport] = useState<Schemas['SampleReport'] | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState<'sample' | 'verify' | null>(null);
  const queries = useQueryClient();

  async function send(verify: boolean) {
    setBusy(verify ? 'verify' : 'sample');
    setError(null);
    try {
      const body = { change_reason: reason, verify };
      setReport(await dataOf(api.POST('/admin/subscriptions/{id}/sample', { params: { path: { id } }, body })));
      await queries.invalidateQueries({ queryKey: ['subscriptions', id] });
    } catch (caught) {
      setError(caught);
    } finally {
      setBusy(null);
    }
  }

  return (
    <Section title="Try it">
      <div className="sample">
        <Select
          label="A sample of"
          value={reason}
          options={CHANGE_REASON_OPTIONS}
          onChange={(value) => setReason(value as ChangeReason)}
        />
        <Button isPending={busy === 'sample'} onPress={() => void send(false)}>
          Send a sample
        </Button>
        <Button
          kind={state === 'UNVERIFIED' ? 'primary' : 'plain'}
          isPending={busy === 'verify'}
          onPress={() => void send(true)}
        >
          Verify
        </Button>
      </div>
      <p className="hint">
        A sample names a candidate who does not exist. Verify makes the partner ACTIVE when it answers 200.
      </p>
      {error !== null && <ProblemNote error={error} />}
      <div aria-live="polite">{report && <SampleReport report={report} />}</div>
    </Section>
  );
}
