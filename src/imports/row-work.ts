import { setImmediate as turn } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import {
  CancelEligibility,
  CreateEligibilities,
  CreateEligibility,
  JudgeCreations,
  UpdateEligibility,
  type Creation,
  type JudgedCreations,
} from '../eligibility/eligibility.commands.js';
import { FindEligibilitiesOfTest, FindKnownRecords } from '../eligibility/eligibility.queries.js';
import { mustBeDoneAgain } from '../platform/database/database.js';
import { DomainError, internalError } from '../platform/errors.js';
import { Logger } from '../platform/observability/logger.js';
import { UnitOfWork } from '../platform/unit-of-work/unit-of-work.js';
import { Columns } from './columns.js';
import type { RowOutcome, WaitingRow } from './imports.rules.js';
import { done, refused, refusedBy, taskOf, type RowTask, type Task } from './row-task.js';

/** The number of rows that are checked without a break. The process handles other requests before it continues. */
const CHECKED_AT_ONCE = 10;

/**
 * Rows that are processed together. A group consists of a single row, or of rows that only create records. `judged` is
 * the result of checking the new records in advance; it is null if that check failed.
 */
export type RowGroup =
  { readonly alone: RowTask } | { readonly tasks: Task[]; readonly judged: JudgedCreations | null };

/**
 * Processes the rows of a chunk in order, in the current transaction, with the handlers that also serve requests about
 * one record. The form of the rows, and the content of new records, are checked before the transaction.
 *
 * 1. A row that cannot be read, or whose form is invalid, is refused immediately. A row that would create a record, but
 *    names an existing record, is also refused immediately.
 * 2. Consecutive rows that only create records are passed to their handler together, which uses one statement. If two
 *    of these rows are about the same record, the later row begins the next group.
 * 3. Every other row is processed alone, in its own savepoint of the transaction. If a group fails as a whole, each of
 *    its rows is processed alone. If an existing record may block a single row of a group, this row is also processed
 *    alone.
 * 4. A refusal rolls back only its row. A lost connection or a deadlock rolls back the transaction, which is retried.
 */
@Injectable()
export class RowWork {
  constructor(
    private readonly commandBus: CommandBus,
    private readonly queryBus: QueryBus,
    private readonly unitOfWork: UnitOfWork,
    private readonly logger: Logger,
  ) {}

  /**
   * Prepares the rows before the transaction, so that the transaction does not include the statements of the checks.
   */
  async prepare(
    accountCode: string,
    rows: readonly WaitingRow[],
    names: readonly string[] | null,
    scopes: ReadonlySet<string>,
  ): Promise<readonly RowGroup[]> {
    const columns = names && Columns.of(names);
    const tasks: RowTask[] = [];
    for (const row of rows) {
      tasks.push(taskOf(row, columns, scopes));
      if (tasks.length % CHECKED_AT_ONCE === 0) await turn();
    }
    const groups: RowGroup[] = [];
    for (const group of groupsOf(await this.withoutKnown(accountCode, tasks)))
      if (group.length === 1) groups.push({ alone: group[0] });
      else groups.push({ tasks: group as Task[], judged: await this.judge(accountCode, group as Task[]) });
    return groups;
  }

  async run(accountCode: string, groups: readonly RowGroup[]): Promise<RowOutcome[]> {
    const outcomes: RowOutcome[] = [];
    for (const group of groups)
      if ('alone' in group) outcomes.push(await this.alone(accountCode, group.alone));
      else outcomes.push(...(await this.together(accountCode, group.tasks, group.judged)));
    return outcomes;
  }

  /**
   * Refuses rows that would create a record, but name an existing record of the account. The check stays valid, because
   * records are never deleted.
   */
  private async withoutKnown(accountCode: string, tasks: readonly RowTask[]): Promise<readonly RowTask[]> {
    const named = tasks.flatMap((task) => namedByNew(task) ?? []);
    if (named.length === 0) return tasks;
    const known = new Set(await this.queryBus.execute(new FindKnownRecords(accountCode, named)));
    return tasks.map((task) => {
      const id = namedByNew(task);
      if (id === null || !known.has(id)) return task;
      const detail = 'This record is there already. To change it, give the line the action UPDATE.';
      const fault = { pointer: '/svc_eligiblity_id', code: 'record_exists', detail };
      return refused((task as Task).origin, [fault], id);
    });
  }

  private async together(
    accountCode: string,
    tasks: readonly Task[],
    judged: JudgedCreations | null,
  ): Promise<RowOutcome[]> {
    const answers = judged && (await this.create(judged));
    const outcomes: RowOutcome[] = [];
    for (const [index, task] of tasks.entries()) {
      const answer = answers?.[index] ?? 'OBSTRUCTED';
      if (answer === 'OBSTRUCTED') outcomes.push(await this.alone(accountCode, task));
      else if (answer instanceof DomainError) outcomes.push(refusedBy(task.origin, answer));
      else outcomes.push(done('CREATED', task.origin, answer.created));
    }
    return outcomes;
  }

  /** Checks the records that the rows create; returns null if the check failed as a whole. */
  private async judge(accountCode: string, tasks: readonly Task[]): Promise<JudgedCreations | null> {
    try {
      return await this.commandBus.execute(new JudgeCreations(accountCode, tasks));
    } catch (error) {
      if (mustBeDoneAgain(error)) throw error;
      return null;
    }
  }

  /** Creates the checked records; returns null if the creation failed as a whole. */
  private async create(judged: JudgedCreations): Promise<Creation[] | null> {
    try {
      return await this.unitOfWork.part(() => this.commandBus.execute(new CreateEligibilities(judged)));
    } catch (error) {
      if (mustBeDoneAgain(error)) throw error;
      return null;
    }
  }

  private async alone(accountCode: string, task: RowTask): Promise<RowOutcome> {
    if (Array.isArray(task)) return task;
    try {
      return await this.unitOfWork.part(async () => {
        const outcome = await this.execute(accountCode, task);
        // The change feed entries of an imported row are written immediately, so that they have the order of the rows.
        this.unitOfWork.recordNow();
        return outcome;
      });
    } catch (error) {
      if (error instanceof DomainError) return refusedBy(task.origin, error, await this.recordOf(accountCode, task));
      if (mustBeDoneAgain(error)) throw error;
      this.logger.error({ err: error }, 'a row of an import failed');
      return refusedBy(task.origin, internalError.error());
    }
  }

  private async execute(accountCode: string, { action, body, faults, meant, origin }: Task): Promise<RowOutcome> {
    const { test_code: testCode } = body;
    switch (action) {
      case 'ADD': {
        const created = await this.commandBus.execute(new CreateEligibility(accountCode, body, faults));
        return done('CREATED', origin, created.svc_eligiblity_id);
      }
      case 'UPDATE': {
        const { record, changed } = await this.commandBus.execute(
          new UpdateEligibility(accountCode, body.candidate.candidate_id, testCode, body, faults, meant),
        );
        return done(changed ? 'UPDATED' : 'UNCHANGED', origin, record);
      }
      case 'CANCEL': {
        const named = { ...meant, clientEligibilityId: body.client_eligibility_id ?? null };
        const record = await this.commandBus.execute(
          new CancelEligibility(accountCode, body.candidate.candidate_id, testCode, named),
        );
        return done('CANCELLED', origin, record);
      }
    }
  }

  /** Returns the id of the newest record that a refused row concerns; an empty string if there is none. */
  private async recordOf(accountCode: string, { action, body }: Task): Promise<string> {
    if (action === 'ADD') return '';
    try {
      const [newest] = await this.queryBus.execute(
        new FindEligibilitiesOfTest(accountCode, body.candidate.candidate_id, body.test_code),
      );
      return newest?.svc_eligiblity_id ?? '';
    } catch (error) {
      if (error instanceof DomainError) return '';
      throw error;
    }
  }
}

/** Returns the record id that the row names, if the row creates a record; null for any other row. */
function namedByNew(task: RowTask): string | null {
  return Array.isArray(task) || task.action !== 'ADD' ? null : task.meant.svcEligibilityId;
}

/**
 * Groups the rows in the order of processing. Consecutive rows that create records without vouchers form a group. Every
 * other row forms a group of its own.
 */
function groupsOf(tasks: readonly RowTask[]): RowTask[][] {
  const groups: RowTask[][] = [];
  let open: { tasks: RowTask[]; keys: Set<string> } | null = null;
  for (const task of tasks) {
    const keys = Array.isArray(task) ? null : keysOf(task);
    if (keys === null) {
      groups.push([task]);
      open = null;
      continue;
    }
    if (open === null || keys.some((key) => open!.keys.has(key))) {
      open = { tasks: [], keys: new Set() };
      groups.push(open.tasks);
    }
    open.tasks.push(task);
    for (const key of keys) open.keys.add(key);
  }
  return groups;
}

/**
 * Returns the keys that identify the record that a row creates; null for a row that is processed alone. Two rows share
 * a key if one may block the other.
 */
function keysOf({ action, body, faults }: Task): string[] | null {
  if (action !== 'ADD' || body.voucher_codes?.length) return null;
  if (!faults.isEmpty) return [];
  const record = JSON.stringify([body.candidate.candidate_id, body.test_code]);
  return body.client_eligibility_id == null ? [record] : [record, body.client_eligibility_id];
}
