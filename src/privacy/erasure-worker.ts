import { Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { Config } from '../config.js';
import { Database, isDatabaseUnavailable } from '../platform/database/database.js';
import { DomainError, internalError } from '../platform/errors.js';
import { Logger } from '../platform/observability/logger.js';
import type { Candidate } from '../platform/personal-data.js';
import { UnitOfWork } from '../platform/unit-of-work/unit-of-work.js';
import { Erasure } from './erasure.js';

const LOOK_MS = 1_000;

const TAKE = {
  text: `SELECT id, account_code, filter->>'candidate_id' AS candidate_id FROM jobs
         WHERE kind = 'ERASE' AND state IN ('PREPARING', 'RUNNING') ORDER BY position LIMIT 1 FOR UPDATE SKIP LOCKED`,
};
// The job named the candidate as long as it had to.
const FINISH = {
  text: `UPDATE jobs SET state = 'DONE', matched = coalesce(matched, 1), filter = jsonb_build_object('candidate_id', $2::text)
         WHERE id = $1`,
};
const PAUSE = { text: `UPDATE jobs SET state = 'PAUSED', paused_because = $2 WHERE id = $1` };
/** Other jobs that were about the candidate alone. */
const FORGET_FILTERS = {
  text: `UPDATE jobs SET filter = jsonb_set(filter, '{candidate_id}', to_jsonb($2::text))
         WHERE filter->>'candidate_id' = $1 AND (account_code IS NULL OR account_code = $3)`,
};

/** Does the jobs of the kind ERASE, in processes with the role `delivery`; each job is one transaction. */
@Injectable()
export class ErasureWorker implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private active = false;
  private running: Promise<void> | null = null;

  constructor(
    private readonly config: Config,
    private readonly logger: Logger,
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly erasure: Erasure,
  ) {}

  onApplicationBootstrap(): void {
    this.active = this.config.roles.has('delivery');
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.active = false;
    await this.running;
  }

  /** Looks for jobs; returns once there is none. */
  @Interval(LOOK_MS)
  look(): Promise<void> {
    if (this.active) this.running ??= this.work().finally(() => (this.running = null));
    return this.running ?? Promise.resolve();
  }

  private async work(): Promise<void> {
    try {
      while (this.active && (await this.doNext()));
    } catch (error) {
      this.logger.warn({ err: error }, 'an erasure failed; the next round tries again');
    }
  }

  private doNext(): Promise<boolean> {
    return this.unitOfWork.run(async () => {
      const job = await this.database.queryOne<{ id: string; account_code: string; candidate_id: string }>(TAKE);
      if (job === null) return false;
      const candidate: Candidate = { accountCode: job.account_code, candidateId: job.candidate_id };
      try {
        const pseudonym = await this.unitOfWork.part(() => this.erasure.erase(candidate));
        await this.database.execute(FINISH, [job.id, pseudonym]);
        await this.database.execute(FORGET_FILTERS, [job.candidate_id, pseudonym, job.account_code]);
      } catch (error) {
        if (isDatabaseUnavailable(error)) throw error;
        const code = error instanceof DomainError ? error.code : internalError.code;
        if (!(error instanceof DomainError)) this.logger.error({ err: error, job_id: job.id }, 'an erasure failed');
        // Erased by another job meanwhile, or booked again.
        if (code === 'candidate_not_found') await this.database.execute(FINISH, [job.id, null]);
        else await this.database.execute(PAUSE, [job.id, code]);
      }
      return true;
    });
  }
}
