import { setImmediate as turn } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import {
  CancelEligibility,
  CreateEligibilities,
  CreateEligibility,
  JudgeCreations,
  UpdateEligibility,
  type Creation,
  type JudgedCreations,
} from '../eligibility/eligibility.commands.js';
import { EligibilityModel } from '../eligibility/eligibility-model.fields.js';
import { mustBeDoneAgain } from '../platform/database/database.js';
import { DomainError, insufficientScope, internalError, type Fault } from '../platform/errors.js';
import { parseJson } from '../platform/http/json-text.js';
import { Logger } from '../platform/observability/logger.js';
import { UnitOfWork } from '../platform/unit-of-work/unit-of-work.js';
import { Faults } from '../platform/validation/faults.js';
import { isObject } from '../platform/validation/fields.js';
import { inspectBody } from '../platform/validation/members.js';
import { oneOf } from '../platform/validation/rules.js';
import { ACTIONS, type Action, type Outcome, type RowOutcome, type WaitingRow } from './imports.rules.js';

/** Rows whose form is checked before others get their turn. */
const CHECKED_AT_ONCE = 10;

const actionRule = oneOf(ACTIONS, 'action_invalid');
/** What a row of each action needs in the token, as its single call does; `create` let the import in. */
const SCOPE: Record<Action, string> = { ADD: 'create', UPDATE: 'update', CANCEL: 'delete' };
const OUTCOME: Record<Action, Outcome> = { ADD: 'CREATED', UPDATE: 'UPDATED', CANCEL: 'CANCELLED' };

/** A row that can be asked of a handler. */
interface Task {
  readonly action: Action;
  readonly body: EligibilityModel;
  readonly faults: Faults;
}

/** A row whose form has been checked: something to do, or its refusal. */
type RowTask = Task | RowOutcome;

/** What is done at once: a row by itself, or rows that only create, judged unless that failed. */
export type RowGroup =
  { readonly alone: RowTask } | { readonly tasks: Task[]; readonly judged: JudgedCreations | null };

/**
 * Does the rows of a chunk by the handlers of the single calls, in their order, within the caller's transaction. What can be
 * known before, their form and the judgement of new records, is prepared outside of it.
 *
 * 1. A row that cannot be read, or whose form says nothing to act on, is refused where it stands.
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
    private readonly unitOfWork: UnitOfWork,
    private readonly logger: Logger,
  ) {}

  /** What is to be done. Outside of the transaction, so that no statement of it is waited for. */
  async prepare(
    accountCode: string,
    rows: readonly WaitingRow[],
    scopes: ReadonlySet<string>,
  ): Promise<readonly RowGroup[]> {
    const tasks: RowTask[] = [];
    for (const row of rows) {
      tasks.push(taskOf(row, scopes));
      if (tasks.length % CHECKED_AT_ONCE === 0) await turn();
    }
    const groups: RowGroup[] = [];
    for (const group of groupsOf(tasks))
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
      else outcomes.push(answer === 'CREATED' ? [answer] : refused(answer));
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
      await this.unitOfWork.part(async () => {
        await this.execute(accountCode, task);
        // The change feed has the rows in their order: creations are told at once.
        this.unitOfWork.recordNow();
      });
      return [OUTCOME[task.action]];
    } catch (error) {
      if (error instanceof DomainError) return refused(error);
      if (mustBeDoneAgain(error)) throw error;
      this.logger.error({ err: error }, 'a row of an import failed');
      return refused(internalError.error());
    }
  }

  private async execute(accountCode: string, { action, body, faults }: Task): Promise<void> {
    switch (action) {
      case 'ADD':
        await this.commandBus.execute(new CreateEligibility(accountCode, body, faults));
        return;
      case 'UPDATE':
        await this.commandBus.execute(
          new UpdateEligibility(accountCode, body.candidate.candidate_id, body.test_code, body, faults),
        );
        return;
      case 'CANCEL':
        await this.commandBus.execute(new CancelEligibility(accountCode, body.candidate.candidate_id, body.test_code));
    }
  }
}

/** The row as something to do, or its refusal. */
function taskOf(row: WaitingRow, scopes: ReadonlySet<string>): RowTask {
  if ('fault' in row) return ['REFUSED', [row.fault]];
  let value: unknown;
  try {
    value = 'line' in row ? parseJson(row.line) : row.value;
  } catch (error) {
    return refused(error as DomainError);
  }
  const { action: given, ...members } = isObject(value) ? value : { action: undefined };
  const actionFaults = given == null ? [] : actionRule.faults(given).map((fault) => ({ ...fault, pointer: '/action' }));
  const action = actionFaults.length > 0 || given == null ? 'ADD' : (given as Action);
  const inspected = inspectBody(EligibilityModel, isObject(value) ? members : value);
  // A cancellation says no more than which record it means.
  const faults = [...inspected.faults.list, ...actionFaults].filter(
    ({ pointer = '', code }) => action !== 'CANCEL' || code !== 'required' || !NAMES.has(pointer),
  );
  const isSettled = action === 'ADD' ? actionFaults.length > 0 : faults.some(isAboutTheRecord);
  if (isSettled || (action === 'CANCEL' && faults.length > 0)) return ['REFUSED', faults];
  if (!scopes.has(SCOPE[action]))
    return refused(insufficientScope.error({ detail: `The token has not the scope ${SCOPE[action]}.` }));
  return { action, body: inspected.body, faults: new Faults(faults) };
}

const NAMES = new Set(['/candidate/first_name', '/candidate/last_name']);
const RECORD = new Set(['', '/candidate', '/candidate/candidate_id', '/test_code']);

/** Without a valid candidate and test there is no record to look for. */
function isAboutTheRecord({ pointer = '' }: Fault): boolean {
  return RECORD.has(pointer);
}

function refused(error: DomainError): RowOutcome {
  const faults = error.errors.length > 0 ? error.errors : [{ pointer: '', code: error.code, detail: error.detail }];
  return ['REFUSED', faults];
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

/** What may be in the way of another creation; null for a row that is done alone. */
function keysOf({ action, body, faults }: Task): string[] | null {
  if (action !== 'ADD' || body.voucher_codes?.length) return null;
  if (!faults.isEmpty) return [];
  const record = JSON.stringify([body.candidate.candidate_id, body.test_code]);
  return body.client_eligibility_id == null ? [record] : [record, body.client_eligibility_id];
}
