import type { Schemas } from '../api/client';
import { Badge } from '../components/badge';
import { Code } from '../components/code';
import { failureText, reasonText } from '../components/failure-text';
import { Empty } from '../components/states';
import { Time } from '../components/time';
import { requestHeaders } from './curl';
import { missingAnswerText } from './words';

export interface AttemptsProps {
  notification: Schemas['NotificationDetail'];
  subscription: Schemas['SubscriptionModel'] | undefined;
}

const TRIGGERS: Record<Schemas['AttemptModel']['trigger'], string> = {
  FIRST: 'First attempt',
  AUTO: 'Automatic retry',
  MANUAL: 'Manual resend',
  REPLAY: 'Replay',
  RENEWED: 'Retried with a new token or connection',
};

/** Shows each attempt to deliver the notification, with the request, its duration, and the partner's response. */
export function Attempts({ notification, subscription }: AttemptsProps) {
  const { attempts } = notification;
  if (attempts.length === 0) return <Empty>No attempts yet.</Empty>;
  const headers = requestHeaders(notification, subscription);
  return (
    <ol className="attempts">
      {attempts.map((attempt, index) => (
        <li key={index} className="panel">
          <p className="line">
            <strong>{TRIGGERS[attempt.trigger]}</strong>
            {attempt.failure == null ? (
              <Badge state="DELIVERED" />
            ) : (
              <Badge state={failureText(attempt.failure)} tone="bad" />
            )}
            {attempt.http_status != null && <span>HTTP {attempt.http_status}</span>}
            {attempt.reason && <span title={attempt.reason}>{reasonText(attempt.reason)}</span>}
            <span className="hint">{attempt.duration_ms.toLocaleString('en')} ms</span>
          </p>
          <Time at={attempt.at} exact />
          {attempt.excerpt ? (
            <>
              <h3>Partner’s answer</h3>
              <pre tabIndex={0} aria-label={`Partner’s answer to attempt ${index + 1}`}>
                {attempt.excerpt}
              </pre>
            </>
          ) : (
            <p className="hint">{missingAnswerText(attempt)}</p>
          )}
          <details>
            <summary>Request headers</summary>
            <dl className="headers">
              {headers.map(([name, value]) => (
                <div key={name}>
                  <dt>{name}</dt>
                  <dd>
                    <Code>{value}</Code>
                  </dd>
                </div>
              ))}
            </dl>
          </details>
        </li>
      ))}
    </ol>
  );
}
