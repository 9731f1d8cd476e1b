import { useState } from 'react';
import type { Schemas } from '../api/client';
import { Button } from '../components/button';
import { Select } from '../components/fields';
import { Section } from '../components/page';
import { ProblemNote } from '../components/states';
import { CHANGE_REASON_OPTIONS } from '../notification/words';
import { SampleReport } from './sample-report';
import { useSample } from './use-sample';

type ChangeReason = Schemas['SampleReport']['change_reason'];

/** Shows a form that sends the partner a sample notification about any kind of change, and a report about each step. */
export function SampleSection({ subscription: { id, state } }: { subscription: Schemas['SubscriptionModel'] }) {
  const [reason, setReason] = useState<ChangeReason>('BOOKING_CREATED');
  const { report, error, busy, send } = useSample(id);
  return (
    <Section title="Sample notification">
      <div className="sample">
        <Select
          label="Kind of sample"
          value={reason}
          options={CHANGE_REASON_OPTIONS}
          onChange={(value) => setReason(value as ChangeReason)}
        />
        <Button isPending={busy?.verify === false} onPress={() => void send({ change_reason: reason, verify: false })}>
          Send a sample
        </Button>
        <Button
          kind={state === 'UNVERIFIED' ? 'primary' : 'plain'}
          isPending={busy?.verify === true}
          onPress={() => void send({ change_reason: reason, verify: true })}
        >
          Verify
        </Button>
      </div>
      <p className="hint">
        A sample notification is about a fictitious candidate. "Verify" sends a sample, and activates the partner if the
        partner answers with status 200.
      </p>
      {error !== null && <ProblemNote error={error} />}
      <div aria-live="polite">{report && <SampleReport report={report} />}</div>
    </Section>
  );
}
