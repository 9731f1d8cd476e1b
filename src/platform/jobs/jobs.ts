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
 * Creates and controls bulk jobs.
 *
 * 1. `make` only stores the job as PREPARING, in the transaction of the request. The workers for this kind of job look
 *    for jobs that are PREPARING or RUNNING.
 * 2. A worker collects the items of the job in the background, in batches. Once `matched` is set, the list of items is
 *    final.
 * 3. `steer` locks the job's row, and applies an operator's action to the job. A worker locks the same row for each
 *    batch. After the response to the operator, the worker therefore processes no further item of a paused job.
 *
 * A worker never locks the row of a job longer than one batch takes, which is a few hundred milliseconds.
 */
@Injectable()
export class Jobs {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
  ) {}

  /** Stores a new job in the current unit of work, and returns the job's id. */
  async make({ kind, filter, reason, accountCode }: NewJob): Promise<string> {
    const id = randomUUID();
    const actor = requestContext().caller?.username ?? 'system';
    await this.database.manager.insert(Job, { id, kind, filter, reason, actor, account_code: accountCode });
    this.unitOfWork.audit(`job.${kind.toLowerCase()}`, id, { accountCode });
    return id;
  }

  /**
   * Applies an operator's action to a job in the current unit of work. Returns the job as it was before the action.
   * @throws DomainError `not_found`, `job_finished`
   */
  async steer(id: string, action: JobAction): Promise<Job> {
    const job = await this.lock(id);
    await this.database.manager.update(Job, id, {
      state: stateAfter(action, job),
      paused_because: action === 'pause' ? BY_OPERATOR : null,
      paused_by: action === 'pause' ? (requestContext().caller?.username ?? null) : null,
    });
    this.unitOfWork.audit(`job.${action}`, id, { accountCode: job.account_code });
    return job;
  }

  /**
   * Locks a job in the current unit of work, after the worker has finished its current batch.
   * @throws DomainError `not_found`
   */
  async lock(id: string): Promise<Job> {
    const job = isUuid(id)
      ? await this.database.manager.findOne(Job, { where: { id }, lock: { mode: 'pessimistic_write' } })
      : null;
    if (job === null) throw notFound.error({ detail: 'There is no such job.' });
    return job;
  }
}
