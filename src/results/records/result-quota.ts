import { Injectable } from '@nestjs/common';
import { Config } from '../../config.js';
import { Clock } from '../../platform/clock.js';
import { Database, prepared, violatedConstraint } from '../../platform/database/database.js';
import { UnitOfWork } from '../../platform/unit-of-work/unit-of-work.js';
import type { KeptBody } from '../body/result-body.js';
import { resultQuotaExceeded } from '../results.errors.js';

const MIB = 1024 * 1024;
const DAY_MS = 86_400_000;
/** The share of the quota that unmatched results may take, counted apart from matched ones. */
const UNMATCHED_SHARE = 0.25;

/** $1 owner, $2 bytes, $3 quota. The constraint has the last word: no number of parallel deliveries gets beyond the quota. */
const COUNT = prepared(
  'result-bytes-count',
  `INSERT INTO result_bytes AS kept (owner, day, bytes, quota)
   VALUES ($1, (statement_timestamp() AT TIME ZONE 'UTC')::date, $2, $3)
   ON CONFLICT ON CONSTRAINT result_bytes_pk DO UPDATE SET bytes = kept.bytes + excluded.bytes, quota = excluded.quota`,
);
const SWEEP = prepared(
  'result-bytes-sweep',
  `DELETE FROM result_bytes WHERE (owner, day) IN (
     SELECT owner, day FROM result_bytes WHERE day < (statement_timestamp() AT TIME ZONE 'UTC')::date - 1
     LIMIT $1 FOR UPDATE SKIP LOCKED)`,
);

/**
 * How many bytes of results are stored in a day: for an account what found its exam there, and apart from it what found none,
 * for the account of the path or else the application. Days are those of UTC.
 */
@Injectable()
export class ResultQuota {
  private readonly quota: number;

  constructor(
    config: Config,
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
  ) {
    this.quota = config.resultMibPerDay * MIB;
  }

  /** At the end of the running unit of work: the row is held until COMMIT, by all deliveries of the owner in turn. */
  countMatched(accountCode: string, body: KeptBody): void {
    this.count(`account ${accountCode}`, body, this.quota);
  }

  /** As {@link countMatched}. @param owner an account code or a consumer key */
  countUnmatched(owner: string, body: KeptBody | Buffer): void {
    this.count(`unmatched ${owner}`, body, Math.floor(this.quota * UNMATCHED_SHARE));
  }

  /**
   * Runs a unit of work that counts.
   * @throws DomainError result_quota_exceeded
   */
  async explaining<T>(unit: () => Promise<T>): Promise<T> {
    try {
      return await unit();
    } catch (error) {
      throw this.explained(error);
    }
  }

  /** Returns the error of a unit of work that was refused: beyond the quota, the problem of the quota. */
  private explained(error: unknown): unknown {
    if (violatedConstraint(error) !== 'result_bytes_within_quota') return error;
    const now = this.clock.now().getTime();
    const seconds = Math.ceil((DAY_MS - (now % DAY_MS)) / 1000);
    return resultQuotaExceeded.error({ headers: { 'Retry-After': String(seconds) } });
  }

  /** Takes away the counts of days that are over, at most so many. */
  sweep(most: number): Promise<number> {
    return this.database.execute(SWEEP, [most]);
  }

  private count(owner: string, body: KeptBody | Buffer, quota: number): void {
    if (this.quota === 0) return;
    const parts = Buffer.isBuffer(body) ? [body] : [body.text, body.photo, body.videoLink, body.credentials];
    const bytes = parts.reduce((sum, part) => sum + (part?.length ?? 0), 0);
    this.unitOfWork.send(COUNT, [owner, bytes, quota]);
  }
}
