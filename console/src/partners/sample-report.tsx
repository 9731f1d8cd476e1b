import './partners.css';
import type { Schemas } from '../api/client';
import { Badge, type Tone } from '../components/badge';
import { Code } from '../components/code';
import { failureText } from '../components/failure-text';
import { Time } from '../components/time';
import { eventText } from '../notification/words';

type Report = Schemas['SampleReport'];
type StepName = Report['steps'][number]['step'];

const STEPS: Record<StepName, string> = {
  NAME: 'Host name lookup',
  ADDRESS: 'Connection',
  TLS: 'Certificate check',
  SIGN_IN: 'Sign-in of the service',
  ANSWER: 'Answer of the partner',
};
const TONES: Record<Report['steps'][number]['outcome'], Tone> = { OK: 'good', FAILED: 'bad', NOT_REACHED: 'quiet' };

/** Shows, step by step, what happened when the service sent a sample notification to the partner. */
export function SampleReport({ report }: { report: Report }) {
  const { delivered, change_reason: reason, http_status: status, duration_ms: duration } = report;
  return (
    <div className="panel report">
      <p className="line">
        <strong>{eventText(reason)}</strong>
        <Badge
          state={delivered ? 'DELIVERED' : failureText(report.failure as Parameters<typeof failureText>[0])}
          tone={delivered ? 'good' : 'bad'}
        />
        {status != null && <span>HTTP {status}</span>}
        <span className="hint">{duration.toLocaleString('en')} ms</span>
      </p>
      <ol className="steps">
        {report.steps.map(({ step, outcome, detail, reason: code }) => (
          <li key={step}>
            <span className="line">
              <strong>{STEPS[step]}</strong>
              <Badge state={outcome} tone={TONES[outcome]} />
              {code && <Code>{code}</Code>}
            </span>
            <p>{detail}</p>
          </li>
        ))}
      </ol>
      {report.addresses.length > 0 && <p className="hint">Addresses: {report.addresses.join(', ')}</p>}
      {report.certificates.length > 0 && (
        <details>
          <summary>The certificates that the partner presented{report.protocol && `, ${report.protocol}`}</summary>
          <ol className="certificates">
            {report.certificates.map(({ subject, issuer, not_before: from, not_after: to, fingerprint }) => (
              <li key={fingerprint}>
                <strong>{subject}</strong>
                <p>
                  issued by {issuer}, valid from <Time at={from} compact /> until <Time at={to} compact />
                </p>
                <Code>{fingerprint}</Code>
              </li>
            ))}
          </ol>
        </details>
      )}
      {report.excerpt && (
        <>
          <h3>Partner’s answer</h3>
          <pre tabIndex={0} aria-label="Answer to the sample">
            {report.excerpt}
          </pre>
        </>
      )}
    </div>
  );
}
