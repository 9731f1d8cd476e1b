/**
 * Retries calls as docs/clients.md allows. A call is retried if there is no response, after status 429, 500 or 503, and
 * after status 409 with the code `idempotency_key_in_use`. The waiting time is the time in `Retry-After`. Without this
 * header, each wait is about twice as long as the previous wait. A POST request is retried only if its idempotency key
 * prevents a second change.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { AccessToken } from './access-token.js';

export interface Retries {
  /** The maximum number of retries; 4 by default, 0 for none. */
  most?: number;
  /** The wait before the first retry, in milliseconds; 200 by default. Each further wait is about twice as long. */
  firstWaitMs?: number;
}

const LONGEST_WAIT_MS = 60_000;

/** A pattern that matches the paths of the POST requests that accept an `Idempotency-Key`. */
export const KEYED_POSTS =
  /\/(candidates|bookings|absence|eligibility-imports|candidates\/[^/]+\/erase|replay|error-queue\/(resend|resolve)|error-queue\/[^/]+\/(resend|resolve)|notifications\/[^/]+\/resend|(resends|jobs|imports)\/[^/]+\/(pause|resume|abort))$/;

/**
 * Builds a `fetch` function that retries calls. It adds the token to each call, and an `Idempotency-Key` to each write.
 */
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
