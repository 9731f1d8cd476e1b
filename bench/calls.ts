import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';

export interface Call {
  (number: number): Promise<void>;
  /** Runs before each measured call. The duration of this function is not measured. */
  before?: () => Promise<void>;
}

/**
 * Calls the service, with a JSON body if `body` is given, and returns its response. Throws when the status is not 2xx.
 */
export async function callJson(
  baseUrl: string,
  token: string,
  method: string,
  path: string,
  body?: object,
): Promise<Record<string, string>> {
  const response = await fetch(baseUrl + path, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body ? { 'content-type': 'application/json' } : {}) },
    body: body && JSON.stringify(body),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return (text === '' ? {} : JSON.parse(text)) as Record<string, string>;
}

/** Sends calls over keep-alive connections. A call throws when the status of its response is not 2xx. */
export class Caller {
  private readonly pool: Pool;

  constructor(
    url: string,
    private readonly token: string,
    connections: number,
  ) {
    this.pool = new Pool(url, { connections });
  }

  async call(method: 'GET' | 'POST', path: string, body?: string): Promise<void> {
    const answer = await this.pool.request({
      method,
      path,
      headers: {
        authorization: `Bearer ${this.token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body,
    });
    const text = await answer.body.text();
    if (answer.statusCode < 200 || answer.statusCode > 299)
      throw new Error(`${method} ${path}: ${answer.statusCode} ${text}`);
  }

  close(): Promise<void> {
    return this.pool.close();
  }
}

/**
 * Makes `count` calls of each of two kinds. The kinds alternate, so that a disturbance on the machine slows both of
 * them. Each of the `atOnce` callers makes one call at a time. Returns the durations of each kind's calls in
 * milliseconds, sorted.
 */
export async function inTurn(count: number, atOnce: number, both: readonly [Call, Call]): Promise<Float64Array[]> {
  const milliseconds = both.map(() => new Float64Array(count));
  let next = 0;
  const caller = async () => {
    while (next < 2 * count) {
      const number = next++;
      const [which, call] = [number % 2, Math.floor(number / 2)];
      await both[which].before?.();
      const started = performance.now();
      await both[which](call);
      milliseconds[which][call] = performance.now() - started;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, caller));
  return milliseconds.map((times) => times.sort());
}

/**
 * Starts calls at a steady rate, whether or not earlier calls have ended. Returns the sorted durations in milliseconds.
 * Each duration is measured from the planned start of the call.
 */
export async function atRate(perSecond: number, seconds: number, call: Call): Promise<Float64Array> {
  const count = Math.round(perSecond * seconds);
  const milliseconds = new Float64Array(count);
  const calls: Promise<void>[] = [];
  const begun = performance.now();
  for (let number = 0; number < count; number++) {
    const due = begun + (number * 1000) / perSecond;
    while (performance.now() < due) await sleep(Math.max(0, due - performance.now()));
    calls.push(call(number).then(() => void (milliseconds[number] = performance.now() - due)));
  }
  await Promise.all(calls);
  return milliseconds.sort();
}
