import { Injectable } from '@nestjs/common';
import { ProcessConfig } from '../platform/process.config.js';
import { acrossAccounts, Database, mustBeDoneAgain } from '../platform/database/database.js';
import { DomainError, internalError } from '../platform/errors.js';
import { Logger } from '../platform/observability/logger.js';
import type { Candidate } from '../platform/personal-data.js';
import { UnitOfWork } from '../platform/unit-of-work/unit-of-work.js';
import { Worker } from '../platform/worker.js';
import { Erasure } from './erasure.js';

const TAKE = {
  text: `SELECT id, account_code, filter->>'candidate_id' AS candidate_id FROM jobs
         WHERE kind = 'ERASE' AND state IN ('PREPARING', 'RUNNING') ORDER BY position LIMIT 1 FOR UPDATE SKIP LOCKED`,
  across: acrossAccounts.workers,
};
// Ends the job, and replaces the candidate's id in the job, because the id is no longer needed.
const FINISH = {
  text: `UPDATE jobs SET state = 'DONE', matched = $3, unmatched_results = $4::uuid[],
           filter = jsonb_build_object('candidate_id', $2::text) WHERE id = $1`,
  across: acrossAccounts.keyInHand,
};
const PAUSE = {
  text: `UPDATE jobs SET state = 'PAUSED', paused_because = $2 WHERE id = $1`,
  across: acrossAccounts.keyInHand,
};
/** Replaces the erased candidate's id in the filters of other bulk jobs. */
const FORGET_FILTERS = {
  text: `UPDATE jobs SET filter = jsonb_set(filter, '{candidate_id}', to_jsonb($2::text))
         WHERE filter->>'candidate_id' = $1 AND (account_code IS NULL OR account_code = $3)`,
  across: acrossAccounts.operators,
};

/** Processes jobs of the kind ERASE. Each job runs in one transaction. */
@Injectable()
export class ErasureWorker extends Worker {
  constructor(
    config: ProcessConfig,
    logger: Logger,
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly erasure: Erasure,
  ) {
    super(config, logger, 'an erasure');
  }

  protected doNext(): Promise<boolean> {
    return this.unitOfWork.run(async () => {
      const job = await this.database.queryOne<{ id: string; account_code: string; candidate_id: string }>(TAKE);
      if (job === null) return false;
      const candidate: Candidate = { accountCode: job.account_code, candidateId: job.candidate_id };
      try {
        const { pseudonym, records, tiedByName } = await this.unitOfWork.part(() => this.erasure.erase(candidate));
        await this.database.execute(FINISH, [job.id, pseudonym, records, tiedByName]);
        await this.database.execute(FORGET_FILTERS, [job.candidate_id, pseudonym, job.account_code]);
      } catch (error) {
        if (mustBeDoneAgain(error)) throw error;
        const code = error instanceof DomainError ? error.code : internalError.code;
        if (!(error instanceof DomainError)) this.logger.error({ err: error, job_id: job.id }, 'an erasure failed');
        // The erasure can fail because another job has already erased the candidate, or because the candidate has a new
        // booking.
        if (code === 'candidate_not_found') await this.database.execute(FINISH, [job.id, null, 0, []]);
        else await this.database.execute(PAUSE, [job.id, code]);
      }
      return true;
    });
  }
}
