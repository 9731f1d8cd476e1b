import { Injectable } from '@nestjs/common';
import { ResultsConfig } from '../results.config.js';
import { Clock } from '../../platform/clock.js';
import { Database, prepared, violatedConstraint } from '../../platform/database/database.js';
import { UnitOfWork } from '../../platform/unit-of-work/unit-of-work.js';
import type { KeptBody } from '../body/result-body.js';
import { resultQuotaExceeded } from '../results.errors.js';

const MIB = 1024 * 1024;
const DAY_MS = 86_400_000;
/** The quota for unmatched results, as a fraction of the quota for matched results. */
const UNMATCHED_SHARE = 0.25;

/**
 * Adds the bytes of a result to the owner's total for the day. $1: owner; $2: bytes; $3: quota. A constraint enforces
 * the quota even for parallel deliveries.
 */
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
 * Limits the bytes of results that are stored in a day (UTC). A result that was matched with an exam counts for the
 * account of the exam. Unmatched results are counted separately: for the account in the request's path or, if the path
 * has no account, for the sending application.
 */
@Injectable()
export class ResultQuota {
  private readonly quota: number;

  constructor(
    config: ResultsConfig,
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
  ) {
    this.quota = config.mibPerDay * MIB;
  }

  /**
   * Adds the bytes of a matched result's body to the account's total, at the end of the current unit of work. The row
   * is locked until COMMIT, so that the deliveries for an account commit one after another.
   */
  countMatched(accountCode: string, body: KeptBody): void {
    this.count(`account ${accountCode}`, body, this.quota);
  }

  /**
   * Adds the bytes of an unmatched result's body to its owner's total, like {@link countMatched}.
   * @param owner an account code or a consumer key
   */
  countUnmatched(owner: string, body: KeptBody | Buffer): void {
    this.count(`unmatched ${owner}`, body, Math.floor(this.quota * UNMATCHED_SHARE));
  }

  /**
   * Runs a unit of work that counts bytes. Converts the database's error for an exceeded quota to a DomainError.
   * @throws DomainError result_quota_exceeded
   */
  async explaining<T>(unit: () => Promise<T>): Promise<T> {
    try {
      return await unit();
    } catch (error) {
      throw this.explained(error);
    }
  }

  /**
   * Returns the problem `result_quota_exceeded` if the database's error means that a quota was exceeded; otherwise the
   * error itself.
   */
  private explained(error: unknown): unknown {
    if (violatedConstraint(error) !== 'result_bytes_within_quota') return error;
    const now = this.clock.now().getTime();
    const seconds = Math.ceil((DAY_MS - (now % DAY_MS)) / 1000);
    return resultQuotaExceeded.error({ headers: { 'Retry-After': String(seconds) } });
  }

  /**
   * Deletes the byte counts of past days.
   * @param most the maximum number of deleted rows
   */
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
