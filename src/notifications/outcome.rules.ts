import type { Retry } from './notification.entity.js';
import type { AttemptOutcome } from './partner-client.js';

/** What `auto_retry_on` may hold. A 500 is in it always: it says that the partner's components are down. */
export const AUTO_RETRY_CAUSES = ['500', '502', '503', '504', 'timeout', 'connection'] as const;
export type AutoRetryCause = (typeof AUTO_RETRY_CAUSES)[number];

/** The causes as they are kept: in the order above, each once, 500 among them. */
export function autoRetryCauses(asked: readonly string[]): AutoRetryCause[] {
  return AUTO_RETRY_CAUSES.filter((cause) => cause === '500' || asked.includes(cause));
}

/** The cause under which a failure would be retried automatically, else null. */
function autoRetryCause({ failure, httpStatus }: AttemptOutcome): string | null {
  if (failure === 'server_error') return String(httpStatus);
  if (failure === 'timeout') return 'timeout';
  // No connection came about: nobody listens, or the name is not known.
  if (failure === 'connect' || failure === 'dns') return 'connection';
  return null;
}

/** Who retries after a failure: AUTO when the partner is taken to be down, else an operator. */
export function retryAfter(outcome: AttemptOutcome, autoRetryOn: readonly string[]): Retry {
  const cause = autoRetryCause(outcome);
  return cause !== null && (cause === '500' || autoRetryOn.includes(cause)) ? 'AUTO' : 'MANUAL';
}

/** Whether the failure tells of the partner and not of the event: then the next event would fail in the same way. */
export function isPartnerLevel({ failure }: AttemptOutcome): boolean {
  return failure !== null && failure !== 'client_error';
}

/** Whether more attempts at once would only pile up at the partner. */
export function isOverload({ failure }: AttemptOutcome): boolean {
  return failure === 'timeout' || failure === 'connect' || failure === 'dns';
}
