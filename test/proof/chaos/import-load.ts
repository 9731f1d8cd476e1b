import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { TEST_CODE } from '../../../bench/prepare.js';

const ROWS = 600;
/** The shortest time, in milliseconds, between the starts of two imports. */
const PERIOD_MS = 2_000;
const STATE_EVERY_MS = 200;

/**
 * Imports files with eligibility records, one file after the other. All records are new, so that each row creates one
 * event.
 */
export class ImportLoad {
  /** The imports that failed or refused rows. */
  readonly faults: string[] = [];
  private running = true;
  private readonly work: Promise<void>;

  constructor(
    private readonly options: {
      /** Returns the base URL of the service process that gets the next request. */
      readonly baseUrl: () => string;
      readonly account: string;
      readonly token: string;
    },
  ) {
    this.work = this.importAll();
  }

  async stop(): Promise<void> {
    this.running = false;
    await this.work;
  }

  private async importAll(): Promise<void> {
    while (this.running) {
      const next = pause(PERIOD_MS);
      await this.importOne().catch((error: unknown) => this.faults.push(`import: ${String(error)}`));
      await next;
    }
  }

  private async importOne(): Promise<void> {
    const rows = Array.from({ length: ROWS }, () =>
      JSON.stringify({
        test_code: TEST_CODE,
        candidate: { candidate_id: `I-${randomUUID()}`, first_name: 'Ada', last_name: 'Lovelace' },
      }),
    );
    const { import_id } = await this.call('POST', '', rows.join('\n'));
    for (;;) {
      const { state, created } = await this.call('GET', `/${String(import_id)}`);
      if (state === 'DONE' && created === ROWS) return;
      if (state !== 'RUNNING') throw new Error(`${String(state)} with ${String(created)} records`);
      await pause(STATE_EVERY_MS);
    }
  }

  private async call(method: string, path: string, body?: string): Promise<Record<string, unknown>> {
    const { baseUrl, account, token } = this.options;
    const response = await fetch(`${baseUrl()}/accounts/${account}/eligibility-imports${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/x-ndjson' },
      body,
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${response.status} ${text}`);
    return JSON.parse(text) as Record<string, unknown>;
  }
}
