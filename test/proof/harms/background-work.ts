import { randomInt, randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { query, TEST_CODE } from '../../../bench/prepare.js';

/**
 * The number of candidates in each import that are never erased. Each import also contains two candidates that may be
 * erased.
 */
const IMPORT_ROWS = 200;
/** The pattern of the ids of candidates that are never erased. */
const KEPT = '^[0-9a-f-]{36}-[0-9]+$';
const REST_MS = 1_500;
const BETWEEN_RESULTS_MS = 100;
const BETWEEN_JOBS_MS = 4_000;
const TIMEOUT_MS = 10_000;
const SETTLE_MS = 180_000;
/** The maximum age of the notifications that a job replays, in milliseconds. */
const REPLAYED_MS = 2_000;

interface Options {
  readonly baseUrl: () => string;
  /** Returns the URL of the database that accepts writes. */
  readonly url: () => string | Promise<string>;
  readonly account: string;
  readonly token: string;
  /** The subscription whose notifications are replayed. */
  readonly subscriptionId: string;
}

/** The number of acknowledged requests of each kind, and how many of them have wrong or missing effects. */
export interface WorkVerdict {
  readonly imports: number;
  readonly unfinishedImports: number;
  /** The number of rows of acknowledged imports that created no record. */
  readonly lostRows: number;
  /** The number of rows that created a second record. */
  readonly doubledRows: number;
  readonly erasures: number;
  readonly unfinishedErasures: number;
  readonly jobs: number;
  readonly unfinishedJobs: number;
  /** The number of parts of bulk jobs whose stored counts are wrong. A bulk job has one part for each subscription. */
  readonly wrongSums: number;
  readonly results: number;
  readonly lostResults: number;
}

/** Returns the number of requests whose effects are wrong or missing. */
export function wrongOf(verdict: WorkVerdict): number {
  const { unfinishedImports, lostRows, doubledRows, unfinishedErasures, unfinishedJobs, wrongSums, lostResults } =
    verdict;
  return unfinishedImports + lostRows + doubledRows + unfinishedErasures + unfinishedJobs + wrongSums + lostResults;
}

/** Imports and erases candidates, delivers results and creates bulk jobs, all at the same time, until it is stopped. */
export class BackgroundWork {
  private readonly imports = new Map<string, string>();
  private readonly erasable: string[] = [];
  private readonly erased: string[] = [];
  private readonly jobs: string[] = [];
  private readonly results: string[] = [];
  private running = true;
  private readonly workers: Promise<void>[];

  constructor(private readonly options: Options) {
    this.workers = [
      this.again(REST_MS, () => this.import()),
      this.again(REST_MS, () => this.erase()),
      this.again(BETWEEN_JOBS_MS, () => this.replay()),
      this.again(BETWEEN_RESULTS_MS, () => this.deliver()),
    ];
  }

  async stop(): Promise<void> {
    this.running = false;
    await Promise.all(this.workers);
  }

  private async again(restMs: number, work: () => Promise<void>): Promise<void> {
    // A failed request was not acknowledged, so the check at the end does not expect it to have an effect.
    for (; this.running; await pause(randomInt(restMs, 2 * restMs))) await work().catch(() => undefined);
  }

  private async import(): Promise<void> {
    const prefix = randomUUID();
    const candidates = [
      ...Array.from({ length: IMPORT_ROWS }, (_, row) => `${prefix}-${row}`),
      `${prefix}-erase-0`,
      `${prefix}-erase-1`,
    ];
    const rows = candidates.map((candidate_id) =>
      JSON.stringify({ test_code: TEST_CODE, candidate: { candidate_id, first_name: 'Ada', last_name: 'Lovelace' } }),
    );
    const path = `/accounts/${this.options.account}/eligibility-imports`;
    const { import_id } = await this.call('POST', path, rows.join('\n'), 'application/x-ndjson');
    this.imports.set(import_id as string, prefix);
    this.erasable.push(`${prefix}-erase-0`, `${prefix}-erase-1`);
  }

  private async erase(): Promise<void> {
    const candidate = this.erasable.shift();
    if (candidate === undefined) return;
    const path = `/admin/accounts/${this.options.account}/candidates/${candidate}/erase`;
    await this.call('POST', path, { reason: 'asked for' });
    this.erased.push(candidate);
  }

  private async replay(): Promise<void> {
    // Without `to`, each replay would contain all notifications that were created while the clock was an hour ahead.
    const [from, to] = [Date.now() - REPLAYED_MS, Date.now()].map(
      (ms) => new Date(ms).toISOString().slice(0, 19) + 'Z',
    );
    const body = { subscription_id: this.options.subscriptionId, filter: { from, to }, reason: 'again' };
    const { job_id } = await this.call('POST', '/admin/notifications/replay', body);
    this.jobs.push(job_id as string);
  }

  private async deliver(): Promise<void> {
    const [record] = await query(
      await this.options.url(),
      `SELECT svc_eligiblity_id AS code FROM eligibilities WHERE account_code = $1 AND candidate_id ~ $2
       ORDER BY random() LIMIT 1`,
      [this.options.account, KEPT],
    );
    if (record === undefined) return;
    const note = `note-${randomUUID()}`;
    const body = { examMetaData: { examCode: record['code'] }, note };
    await this.call('POST', '/registrations/registration/results', body);
    this.results.push(note);
  }

  private async call(
    method: string,
    path: string,
    body: object | string,
    type = 'application/json',
  ): Promise<Record<string, unknown>> {
    const response = await fetch(this.options.baseUrl() + path, {
      method,
      headers: { authorization: `Bearer ${this.options.token}`, 'content-type': type },
      body: typeof body === 'string' ? body : JSON.stringify(body),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${response.status} ${text}`);
    return text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
  }

  /** Waits until all acknowledged work has ended. */
  async settle(): Promise<void> {
    for (const until = Date.now() + SETTLE_MS; Date.now() < until; await pause(500)) {
      const { unfinishedImports, unfinishedErasures, unfinishedJobs } = await this.judge();
      if (unfinishedImports + unfinishedErasures + unfinishedJobs === 0) return;
    }
  }

  async judge(): Promise<WorkVerdict> {
    const { account } = this.options;
    const url = await this.options.url();
    const number = async (text: string, values: unknown[]) =>
      Number((await query(url, `SELECT count(*) FROM (${text}) counted`, values))[0]['count']);
    const ids = [...this.imports.keys()];
    const [{ created, records }] = await query(
      url,
      `SELECT count(DISTINCT candidate_id)::int AS created, count(*)::int AS records FROM eligibilities
       WHERE account_code = $1 AND candidate_id ~ $3 AND left(candidate_id, 36) = ANY ($2)`,
      [account, [...this.imports.values()], KEPT],
    );
    return {
      imports: ids.length,
      unfinishedImports:
        ids.length -
        (await number(`SELECT FROM eligibility_imports WHERE import_id = ANY ($1) AND state = 'DONE'`, [ids])),
      lostRows: ids.length * IMPORT_ROWS - (created as number),
      doubledRows: (records as number) - (created as number),
      erasures: this.erased.length,
      unfinishedErasures: await number(
        'SELECT FROM eligibilities WHERE account_code = $1 AND candidate_id = ANY ($2)',
        [account, this.erased],
      ),
      jobs: this.jobs.length,
      unfinishedJobs: await number(`SELECT FROM jobs WHERE state NOT IN ('DONE', 'ABORTED')`, []),
      wrongSums: await number(
        `SELECT FROM job_parts p JOIN jobs j ON j.id = p.job_id
         WHERE p.sent <> p.delivered + p.failed OR j.state = 'DONE' AND p.waiting > 0`,
        [],
      ),
      results: this.results.length,
      lostResults:
        this.results.length -
        (await number(
          `SELECT DISTINCT note FROM unnest($1::text[]) AS note
           WHERE EXISTS (SELECT FROM result_revisions WHERE account_code = $2 AND body LIKE '%' || note || '%')`,
          [this.results, account],
        )),
    };
  }
}
