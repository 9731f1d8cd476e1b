/**
 * Retries calls as docs/clients.md allows: after a missing response, and after 500, 503, 429 or 409
 * `idempotency_key_in_use`. The wait is the time in `Retry-After`; without this header, each wait is twice as long as
 * the previous one. A POST is retried only when its idempotency key prevents a second change.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { AccessToken } from './access-token.js';

export interface Retries {
  /** The maximum number of retries; 4 by default, 0 for none. */
  most?: number;
  /** The first wait in milliseconds, doubled each time; 200 by default. */
  firstWaitMs?: number;
}

const LONGEST_WAIT_MS = 60_000;

/** Matches the paths of the POST requests that accept an `Idempotency-Key`. */
export const KEYED_POSTS =
  /\/(candidates|bookings|absence|eligibility-imports|candidates\/[^/]+\/erase|replay|error-queue\/(resend|resolve)|error-queue\/[^/]+\/(resend|resolve)|notifications\/[^/]+\/resend|(resends|jobs|imports)\/[^/]+\/(pause|resume|abort))$/;

/** Builds a `fetch` that adds the token and, for writes, an `Idempotency-Key`, and that retries calls. */
export function repeatingFetch(token: AccessToken, { most = 4, firstWaitMs = 200 }: Retries) {
  return async (request: Request): Promise<Response> => {
    const { method } = request;
    if (method !== 'GET' && !request.headers.has('idempotency-key'))
      request.headers.set('idempotency-key', randomUUID());
    const mayRepeat = method !== 'POST' || KEYED_POSTS.test(new URL(request.url).pathname);
    let renewed = false;
    for (let repeats = 0; ; repeats += 1) {
      const isLast = !mayRepeat || repeats >= most;
      const accessToken = await token.get();
      const attempt = request.clone();
      attempt.headers.set('authorization', `Bearer ${accessToken}`);
      let response: Response | null = null;
      try {
        response = await fetch(attempt);
      } catch (error) {
        if (isLast || request.signal.aborted) throw error;
      }
      if (response?.status === 401 && !renewed) {
        renewed = true;
        token.drop(accessToken);
        await response.body?.cancel();
        continue;
      }
      if (response !== null && (isLast || !(await isPassing(response)))) return response;
      const waitMs = waitOf(response, firstWaitMs * 2 ** repeats);
      await response?.body?.cancel();
      await pause(waitMs, undefined, { signal: request.signal });
    }
  };
}

async function isPassing(response: Response): Promise<boolean> {
  if ([429, 500, 503].includes(response.status)) return true;
  return response.status === 409 && (await response.clone().text()).includes('idempotency_key_in_use');
}

function waitOf(response: Response | null, backoffMs: number): number {
  const seconds = Number(response?.headers.get('retry-after') ?? Number.NaN);
  const waitMs = Number.isFinite(seconds) ? seconds * 1000 : backoffMs * (0.5 + Math.random() / 2);
  return Math.min(waitMs, LONGEST_WAIT_MS);
}
