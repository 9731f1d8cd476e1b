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

/** Rows whose form is checked before others get their turn. */
const CHECKED_AT_ONCE = 10;

/** The rows that are done at once: a row by itself, or rows that only create, judged unless that failed. */
export type RowGroup =
  { readonly alone: RowTask } | { readonly tasks: Task[]; readonly judged: JudgedCreations | null };

/**
 * Does the rows of a chunk by the handlers of the single calls, in their order, within the caller's transaction. Their form
 * and the judgement of new records are prepared outside of it.
 *
 * 1. A row that cannot be read, or whose form says nothing to act on, is refused where it stands; so is a new one that names a
 *    record that is there.
 * 2. Rows that only create go to their handler together, which makes one statement of them. No two of them may be about
 *    the same record: the later one begins the next group.
 * 3. Every other row is a part of the transaction by itself, and so are the rows of a group in whose way something may stand, or
 *    that failed as a whole.
 * 4. A refusal undoes its row alone. A lost connection and a deadlock undo the transaction, which is done again.
 */
@Injectable()
export class RowWork {
  constructor(
    private readonly commandBus: CommandBus,
    private readonly queryBus: QueryBus,
    private readonly unitOfWork: UnitOfWork,
    private readonly logger: Logger,
  ) {}

  /** Prepares the work. Outside of the transaction, so that no statement of it is waited for. */
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

  /** Refuses the new ones that name a record of the account. A record never goes away. */
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

  /** Null when they failed as a whole. */
  private async judge(accountCode: string, tasks: readonly Task[]): Promise<JudgedCreations | null> {
    try {
      return await this.commandBus.execute(new JudgeCreations(accountCode, tasks));
    } catch (error) {
      if (mustBeDoneAgain(error)) throw error;
      return null;
    }
  }

  /** Null when they failed as a whole. */
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
        // The change feed has the rows in their order: creations are written at once.
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

  /** The newest record of what a refused row is about; empty where there is none. */
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

/** The record that a row names which would make a new one. */
function namedByNew(task: RowTask): string | null {
  return Array.isArray(task) || task.action !== 'ADD' ? null : task.meant.svcEligibilityId;
}

/** Rows in their order, as they are done: creations without vouchers together, everything else alone. */
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

/** Returns the key on which creations block each other; null for a row that is done alone. */
function keysOf({ action, body, faults }: Task): string[] | null {
  if (action !== 'ADD' || body.voucher_codes?.length) return null;
  if (!faults.isEmpty) return [];
  const record = JSON.stringify([body.candidate.candidate_id, body.test_code]);
  return body.client_eligibility_id == null ? [record] : [record, body.client_eligibility_id];
}
