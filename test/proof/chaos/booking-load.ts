import { randomInt, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Agent, request } from 'undici';
import type { Partner } from '../../support/partner.js';
import { TEST_CODE } from '../../../bench/prepare.js';

const WORKERS = 4;
const DAY_MS = 86_400_000;

const dateTime = (ms: number) => new Date(ms).toISOString().slice(0, 19) + 'Z';

export interface LoadOptions {
  /** Returns the base URL of the service process that gets the next request. */
  readonly baseUrl: () => string;
  readonly account: string;
  readonly token: string;
  /** The pause that each worker makes between two bookings, in milliseconds. */
  readonly restMs?: number;
  readonly timeoutMs?: number;
  /** The number of bookings that are made at the same time; 4 by default. */
  readonly workers?: number;
  /** The maximum number of times that the load moves a booking; 1 by default. */
  readonly mostMoves?: number;
  /** Whether the load also changes eligibility records. The subscription must then select the changes to records. */
  readonly changesRecords?: boolean;
}

/** Creates, moves and cancels bookings, changes eligibility records, and counts the acknowledged changes. */
export class BookingLoad {
  /** The number of acknowledged changes to each booking, and to each record if the load changes records. */
  readonly acknowledged = new Map<string, number>();
  readonly eligibilities = new Set<string>();
  /** The times at which the service sent successful responses. */
  readonly answeredAt: number[] = [];
  /** The durations of successful calls, in milliseconds. */
  durations: number[] = [];
  /** The calls that failed, except those that got 503 with `Retry-After`. */
  readonly faults: string[] = [];
  calls = 0;
  failures = 0;
  private running = true;
  private readonly agent: Agent;
  private readonly workers: Promise<void>[];

  constructor(private readonly options: LoadOptions) {
    const { timeoutMs = 5_000 } = options;
    this.agent = new Agent({ connectTimeout: timeoutMs, headersTimeout: timeoutMs, bodyTimeout: timeoutMs });
    this.workers = Array.from({ length: options.workers ?? WORKERS }, () => this.work());
  }

  async stop(): Promise<void> {
    this.running = false;
    await Promise.all(this.workers);
    await this.agent.close();
  }

  private async work(): Promise<void> {
    while (this.running) {
      try {
        await this.oneBooking();
        if (this.options.restMs) await pause(this.options.restMs);
      } catch {
        this.failures += 1;
        await pause(50);
      }
    }
  }

  private async oneBooking(): Promise<void> {
    const candidate = `C-${randomUUID()}`;
    const { account } = this.options;
    const { svc_eligiblity_id: id } = (await this.call('POST', `/accounts/${account}/candidates`, {
      test_code: TEST_CODE,
      eligibility_end_date: dateTime(Date.now() + 90 * DAY_MS),
      candidate: { candidate_id: candidate, first_name: 'Ada', last_name: 'Lovelace' },
    })) as { svc_eligiblity_id: string };
    this.eligibilities.add(id);
    if (this.options.changesRecords) await this.changeRecord(id, candidate);
    const booking = { booking_on: dateTime(Date.now() + 7 * DAY_MS), delivery_mode: 'SVC_REMOTE_PROCTORED' };
    const path = `/accounts/${account}/candidates/${candidate}/tests/${TEST_CODE}/bookings`;
    const { booking_code: code } = (await this.call('POST', path, booking)) as { booking_code: string };
    this.acknowledged.set(code, 1);
    const moves = randomInt((this.options.mostMoves ?? 1) + 1);
    for (let move = 1; move <= moves; move++) {
      await this.call('PUT', `/accounts/${account}/bookings/${code}`, {
        ...booking,
        booking_on: dateTime(Date.now() + (7 + move) * DAY_MS),
      });
      this.acknowledged.set(code, 1 + move);
    }
    if (randomInt(3) === 0) {
      await this.call('DELETE', `/accounts/${account}/bookings/${code}`);
      this.acknowledged.set(code, this.acknowledged.get(code)! + 1);
    }
  }

  private async changeRecord(id: string, candidate: string): Promise<void> {
    this.acknowledged.set(id, 1);
    for (let change = 0; change < randomInt(3); change++) {
      await this.call('PUT', `/accounts/${this.options.account}/candidates/${candidate}/tests/${TEST_CODE}`, {
        test_code: TEST_CODE,
        candidate: { candidate_id: candidate, first_name: 'Ada', last_name: `Name ${randomUUID()}` },
      });
      this.acknowledged.set(id, this.acknowledged.get(id)! + 1);
    }
  }

  private async call(method: string, path: string, body?: object): Promise<unknown> {
    const begun = performance.now();
    const {
      statusCode,
      headers,
      body: answer,
    } = await request(this.options.baseUrl() + path, {
      dispatcher: this.agent,
      method: method,
      headers: { authorization: `Bearer ${this.options.token}`, 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    }).catch((error: unknown) => {
      this.faults.push(`${method} ${path}: ${String(error)}, ${String((error as Error).cause)}`);
      throw error;
    });
    const text = await answer.text();
    this.calls += 1;
    if (statusCode > 299) {
      if (statusCode !== 503 || headers['retry-after'] === undefined)
        this.faults.push(`${method} ${path}: ${statusCode} ${text}`);
      throw new Error(`${statusCode} ${text}`);
    }
    this.answeredAt.push(Date.now());
    this.durations.push(performance.now() - begun);
    return text === '' ? undefined : (JSON.parse(text) as unknown);
  }
}

/**
 * Subscribes the partner to all future events of the account's bookings, and to the given kinds of changes to its
 * records.
 * @returns the id of the subscription
 */
export async function subscribe(
  baseUrl: string,
  account: string,
  token: string,
  partner: Partner,
  record_changes: readonly string[] = [],
): Promise<string> {
  const post = async (path: string, body?: object) => {
    const response = await fetch(`${baseUrl}/admin/subscriptions${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    return (await response.json()) as { id: string };
  };
  const { id } = await post('', {
    account_code: account,
    partner_url: partner.url,
    ca_pem: partner.caPem,
    wait_ms: 2000,
    ...(record_changes.length > 0 ? { record_changes } : {}),
    auto_retry_on: ['500', 'timeout', 'connection'],
  });
  await post(`/${id}/verify`);
  return id;
}
