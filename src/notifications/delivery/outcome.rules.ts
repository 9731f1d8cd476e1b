import type { Retry } from './notification.entity.js';
import type { AttemptOutcome } from '../partner/attempt-outcome.js';

/** Reasons of a token that was not had, by the cause that they name. */
const TOKEN_CAUSES: readonly [RegExp, string][] = [
  [/^token_(late|answer_late|timeout_.*)$/, 'timeout'],
  [/^token_(connect|dns)_/, 'connection'],
];

/** The cause under which a failure would be retried automatically, else null. */
function autoRetryCause({ failure, httpStatus, reason }: AttemptOutcome): string | null {
  if (failure === 'server_error' || httpStatus === 429 || httpStatus === 408) return String(httpStatus);
  if (failure === 'timeout') return 'timeout';
  // No connection came about: nobody listens, or the name is not known.
  if (failure === 'connect' || failure === 'dns') return 'connection';
  if (failure !== 'auth' || reason === null || httpStatus !== null) return null;
  const status = /^token_http_(\d{3})$/.exec(reason);
  if (status !== null) return status[1];
  return TOKEN_CAUSES.find(([pattern]) => pattern.test(reason))?.[1] ?? null;
}

/** Decides who retries after a failure: AUTO when the partner is taken to be down or busy, else an operator. */
export function retryAfter(outcome: AttemptOutcome, autoRetryOn: readonly string[]): Retry {
  const cause = autoRetryCause(outcome);
  return cause !== null && (cause === '500' || autoRetryOn.includes(cause)) ? 'AUTO' : 'MANUAL';
}

/** Whether the partner says that it is busy: not the event is at fault, nor is the partner down. */
export function isBusy(outcome: AttemptOutcome, autoRetryOn: readonly string[]): boolean {
  return outcome.httpStatus === 429 || (outcome.httpStatus === 503 && autoRetryOn.includes('503'));
}

/** Whether the failure is one of the partner and not of the event: then the next event would fail in the same way. */
export function isPartnerLevel({ failure }: AttemptOutcome): boolean {
  return failure !== null && failure !== 'client_error';
}

/** Reasons of a token that was not had because its endpoint was late, or not there. */
const TOKEN_OVERDUE = /^token_(late|answer_late|(timeout|connect|dns)_)/;

/** Whether more attempts at once would only pile up, at the partner or where its tokens are made. */
export function isOverload({ failure, reason }: AttemptOutcome): boolean {
  if (failure === 'auth') return reason !== null && TOKEN_OVERDUE.test(reason);
  return failure === 'timeout' || failure === 'connect' || failure === 'dns';
}
