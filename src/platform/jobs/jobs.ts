import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { requestContext } from '../context/request-context.js';
import { Database } from '../database/database.js';
import { notFound } from '../errors.js';
import { isUuid } from '../validation/identifiers.js';
import { UnitOfWork } from '../unit-of-work/unit-of-work.js';
import { Job, type JobKind } from './job.entity.js';
import { BY_OPERATOR, stateAfter, type JobAction } from './job.rules.js';

export interface NewJob {
  kind: JobKind;
  filter: object;
  reason: string;
  accountCode: string | null;
}

/**
 * Bulk jobs.
 *
 * 1. `make` stores the job as PREPARING, in the transaction of the request, and does nothing else: whoever does the work
 *    of its kind looks for jobs that are PREPARING or RUNNING.
 * 2. Its set is made in the background, in batches. `matched` says that the set is there; from then on it is frozen.
 * 3. `steer` takes the job's row lock, so that a worker that takes it too, for a batch at a time, does nothing more once
 *    the action has been answered.
 *
 * A worker never holds the row of a job longer than a batch of a few hundred milliseconds takes.
 */
@Injectable()
export class Jobs {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
  ) {}

  /** In the running unit of work. Returns the id of the job. */
  async make({ kind, filter, reason, accountCode }: NewJob): Promise<string> {
    const id = randomUUID();
    const actor = requestContext().caller?.username ?? 'system';
    await this.database.manager.insert(Job, { id, kind, filter, reason, actor, account_code: accountCode });
    this.unitOfWork.audit(`job.${kind.toLowerCase()}`, id, { accountCode });
    return id;
  }

  /**
   * In the running unit of work. Returns the job as it was before.
   * @throws DomainError `not_found`, `job_finished`
   */
  async steer(id: string, action: JobAction): Promise<Job> {
    const job = isUuid(id)
      ? await this.database.manager.findOne(Job, { where: { id }, lock: { mode: 'pessimistic_write' } })
      : null;
    if (job === null) throw notFound.error({ detail: 'There is no such job.' });
    await this.database.manager.update(Job, id, {
      state: stateAfter(action, job),
      paused_because: action === 'pause' ? BY_OPERATOR : null,
      paused_by: action === 'pause' ? (requestContext().caller?.username ?? null) : null,
    });
    this.unitOfWork.audit(`job.${action}`, id, { accountCode: job.account_code });
    return job;
  }
}
