import { kindOf, tracing } from '../../platform/observability/tracing.js';
import type { AttemptOutcome } from '../partner/attempt-outcome.js';

/**
 * Sends an HTTP request to a partner. While tracing is on, the request is a span in the trace of the notification.
 * @param put receives the headers with the `traceparent` of the span
 */
export async function tracedPut(
  cause: string | null,
  headers: Record<string, string>,
  put: (headers: Record<string, string>) => Promise<AttemptOutcome>,
): Promise<AttemptOutcome> {
  const span = tracing?.begin('PUT', 'CLIENT', { 'http.request.method': 'PUT' }, cause);
  if (!span) return put(headers);
  try {
    const outcome = await put({ ...headers, traceparent: span.traceparent });
    const { httpStatus, failure } = outcome;
    span.end(httpStatus === null ? {} : { 'http.response.status_code': httpStatus }, failure);
    return outcome;
  } catch (error) {
    span.end({}, kindOf(error));
    throw error;
  }
}
