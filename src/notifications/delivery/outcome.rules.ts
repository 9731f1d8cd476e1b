import type { Retry } from './notification.entity.js';
import type { AttemptOutcome } from '../partner/attempt-outcome.js';

/** Maps the reasons of failed token requests to the causes that retry settings use. */
const TOKEN_CAUSES: readonly [RegExp, string][] = [
  [/^token_(late|answer_late|timeout_.*)$/, 'timeout'],
  [/^token_(connect|dns)_/, 'connection'],
];

/**
 * Returns the value of the `auto_retry_on` setting that stands for this failure; null if no value does. A failure is
 * retried automatically if the setting contains its value.
 */
function autoRetryCause({ failure, httpStatus, reason }: AttemptOutcome): string | null {
  if (failure === 'server_error' || httpStatus === 429 || httpStatus === 408) return String(httpStatus);
  if (failure === 'timeout') return 'timeout';
  // No connection was established: no server listens at the address, or its name is unknown.
  if (failure === 'connect' || failure === 'dns') return 'connection';
  if (failure !== 'auth' || reason === null || httpStatus !== null) return null;
  const status = /^token_http_(\d{3})$/.exec(reason);
  if (status !== null) return status[1];
  return TOKEN_CAUSES.find(([pattern]) => pattern.test(reason))?.[1] ?? null;
}

/**
 * Decides how a failed attempt is retried: automatically if the partner seems down or busy, otherwise by an operator.
 * @param autoRetryOn the causes of automatic retries, which include 500 and 429
 */
export function retryAfter(outcome: AttemptOutcome, autoRetryOn: readonly string[]): Retry {
  const cause = autoRetryCause(outcome);
  return cause !== null && autoRetryOn.includes(cause) ? 'AUTO' : 'MANUAL';
}

/**
 * Returns whether the failure means that the partner is busy. In this case, the event is not at fault and the partner
 * is not down. A token endpoint that sends `Retry-After` counts as busy, too.
 */
export function isBusy(outcome: AttemptOutcome, autoRetryOn: readonly string[]): boolean {
  if (outcome.failure === 'auth') {
    const cause = autoRetryCause(outcome);
    return outcome.retryAfterS !== null && (cause === '429' || cause === '503') && autoRetryOn.includes(cause);
  }
  return outcome.httpStatus === 429 || (outcome.httpStatus === 503 && autoRetryOn.includes('503'));
}

/**
 * Returns whether the partner, rather than the event, caused the failure. In this case, the next event would fail in
 * the same way.
 */
export function isPartnerLevel({ failure }: AttemptOutcome): boolean {
  return failure !== null && failure !== 'client_error';
}

/** Matches the reasons of failed token requests to a token endpoint that did not answer in time or was unreachable. */
const TOKEN_OVERDUE = /^token_(late|answer_late|(timeout|connect|dns)_)/;

/**
 * Returns whether the failure shows that the partner or its token endpoint is overloaded. More concurrent requests
 * would then only pile up.
 */
export function isOverload({ failure, reason }: AttemptOutcome): boolean {
  if (failure === 'auth') return reason !== null && TOKEN_OVERDUE.test(reason);
  return failure === 'timeout' || failure === 'connect' || failure === 'dns';
}
