import { EligibilityModel } from '../eligibility/eligibility-model.fields.js';
import type { LineOfFile } from '../eligibility/eligibility.commands.js';
import { insufficientScope, type DomainError, type Fault } from '../platform/errors.js';
import { parseStrictJson } from '../platform/http/json-members.js';
import { NOT_JSON } from '../platform/http/json-text.js';
import { Faults } from '../platform/validation/faults.js';
import { isObject } from '../platform/validation/fields.js';
import { inspectBody } from '../platform/validation/members.js';
import { oneOf } from '../platform/validation/rules.js';
import type { Columns } from './columns.js';
import {
  ACTIONS,
  type Action,
  type Outcome,
  type ReportFault,
  type RowOutcome,
  type WaitingRow,
} from './imports.rules.js';

const actionRule = oneOf(ACTIONS, 'action_invalid');
/**
 * The scope that the token needs for each action. It is the same as for a request about one record. The request that
 * starts an import already requires `create`.
 */
const SCOPE: Record<Action, string> = { ADD: 'create', UPDATE: 'update', CANCEL: 'delete' };

/** The form of generated record ids, without the letter from the `CELL` setting that precedes them. */
const RECORD_ID = /^[A-HJKMNP-TV-Z2-9]{8}$/;
const LONGEST_VALUE = 1000;

/** The candidate and the test that a row names, if known, and a function that maps a fault to its place in the row. */
interface Origin {
  readonly line: number;
  readonly candidateId: string;
  readonly testCode: string;
  locate(fault: Fault): ReportFault;
  readonly warnings: readonly ReportFault[];
}

/** A row of an import that is ready to be passed to a command handler. */
export interface Task {
  readonly action: Action;
  readonly body: EligibilityModel;
  readonly faults: Faults;
  readonly meant: LineOfFile;
  readonly origin: Origin;
}

/** A row whose form was checked: a task, or the outcome of a refused row. */
export type RowTask = Task | RowOutcome;

/** Checks the form of a row. Returns the row's task or, if the row is refused, its outcome. */
export function taskOf(row: WaitingRow, columns: Columns | null, scopes: ReadonlySet<string>): RowTask {
  if ('fault' in row) return ['REFUSED', row.line, '', '', '', [row.fault]];
  const said = 'cells' in row ? ofCells(row.line, row.cells, columns!) : ofJson(row.line, row.json);
  if ('faults' in said) return refused(said.origin, said.faults);
  const { action: given, value, meant, origin } = said;
  const actionFaults = given == null ? [] : actionRule.faults(given).map((fault) => ({ ...fault, pointer: '/action' }));
  const action = actionFaults.length > 0 || given == null ? 'ADD' : (given as Action);
  const inspected = inspectBody(EligibilityModel, value);
  const isLeftOut = isNameLeftOut(action, meant, value);
  const faults = [...inspected.faults.list, ...actionFaults].filter(
    ({ pointer = '', code }) => code !== 'required' || !isLeftOut(pointer),
  );
  const isSettled = action === 'ADD' ? actionFaults.length > 0 : faults.some(isAboutTheRecord);
  if (isSettled || (action === 'CANCEL' && faults.length > 0)) return refused(origin, faults);
  if (!scopes.has(SCOPE[action]))
    return refusedBy(
      origin,
      insufficientScope.error({
        detail: `${action} needs the scope "${SCOPE[action]}", which the sender does not have.`,
      }),
    );
  return { action, body: inspected.body, faults: new Faults(faults), meant, origin };
}

const ENDS_IN_COMMA = 'The line ends with a comma, which is not JSON. Each line must be one whole object.';

type Said =
  { action: unknown; value: unknown; meant: LineOfFile; origin: Origin } | { faults: readonly Fault[]; origin: Origin };

function ofCells(line: number, cells: readonly string[], columns: Columns): Said {
  const origin: Origin = {
    line,
    candidateId: columns.cellAt(cells, 'candidate_id'),
    testCode: columns.cellAt(cells, 'test_code'),
    locate: (fault) => columns.located(fault, cells),
    warnings: columns.warnings(cells),
  };
  if (cells.length !== columns.count) {
    const detail = `The line has ${cells.length} cells, and there are ${columns.count} columns. If a cell contains the separator, enclose the cell in quotes.`;
    return { faults: [{ pointer: '', code: 'column_count_invalid', detail }], origin };
  }
  const { action, svcEligibilityId, model, attributes } = columns.read(cells);
  if (svcEligibilityId !== null && !RECORD_ID.test(svcEligibilityId)) {
    const detail = 'This is not an id that the service issues. Keep the column as it was exported.';
    return { faults: [{ pointer: '/svc_eligiblity_id', code: 'record_id_invalid', detail }], origin };
  }
  return { action, value: model, meant: { svcEligibilityId, attributes }, origin };
}

function ofJson(line: number, json: string): Said {
  let value: unknown;
  try {
    value = parseStrictJson(Buffer.from(json));
  } catch (error) {
    const { code, detail: said } = error as DomainError;
    const isJson = said !== NOT_JSON;
    const isListed = json.endsWith(',');
    const detail = isJson
      ? said
      : isListed
        ? ENDS_IN_COMMA
        : 'The line is not JSON. Each line must be one whole object.';
    return { faults: [{ pointer: '', code, detail }], origin: originOf(line, null) };
  }
  const origin = originOf(line, value);
  if (!isObject(value)) {
    const detail = 'The line must be a JSON object.';
    return { faults: [{ pointer: '', code: 'type_invalid', detail }], origin };
  }
  const { action, ...members } = value;
  const named = members['svc_eligiblity_id'];
  const svcEligibilityId = typeof named === 'string' && RECORD_ID.test(named) ? named : null;
  return { action, value: members, meant: { svcEligibilityId, attributes: null }, origin };
}

function originOf(line: number, value: unknown): Origin {
  const candidate = isObject(value) && isObject(value['candidate']) ? value['candidate'] : {};
  const textOf = (member: unknown) => (typeof member === 'string' ? member : '');
  return {
    line,
    candidateId: textOf(candidate['candidate_id']),
    testCode: textOf(isObject(value) ? value['test_code'] : null),
    locate: (fault) => locatedIn(value, fault),
    warnings: [],
  };
}

/** Adds to a fault the name and the original value of the member that the fault concerns. */
function locatedIn(value: unknown, fault: Fault): ReportFault {
  if (!fault.pointer) return fault;
  // Splits a JSON Pointer into the names of members (RFC 6901 §4).
  const path = fault.pointer
    .slice(1)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  let at: unknown = value;
  for (const part of path)
    at =
      typeof at === 'object' && at !== null && Object.hasOwn(at, part)
        ? (at as Record<string, unknown>)[part]
        : undefined;
  const column = path.filter((part) => !/^\d+$/.test(part)).join('.');
  return { ...fault, column, value: at === undefined ? '' : typeof at === 'string' ? at : JSON.stringify(at) };
}

const NAMES = new Map([
  ['/candidate/first_name', 'first_name'],
  ['/candidate/last_name', 'last_name'],
]);

/**
 * Returns a function that decides whether a fault about a missing first or last name can be ignored. A cancellation
 * needs no names, because it only identifies its record. In a CSV update, an empty cell keeps the stored value,
 * including names. However, an update that names its record and clears a candidate's name is refused.
 */
function isNameLeftOut(action: Action, { attributes }: LineOfFile, value: unknown): (pointer: string) => boolean {
  const candidate = (value as { candidate?: Record<string, unknown> }).candidate;
  return (pointer) => {
    const name = NAMES.get(pointer);
    if (name === undefined) return false;
    return action === 'CANCEL' || (action === 'UPDATE' && attributes !== null && candidate?.[name] === undefined);
  };
}

const RECORD = new Set(['', '/candidate', '/candidate/candidate_id', '/test_code']);

/**
 * Returns whether the fault concerns the candidate or the test. If the candidate or the test is unknown, no record can
 * be found for the row.
 */
function isAboutTheRecord({ pointer = '' }: Fault): boolean {
  return RECORD.has(pointer);
}

/** Returns the outcome of a processed row of an import, with the warnings about the row. */
export function done(outcome: Outcome, { line, candidateId, testCode, warnings }: Origin, record: string): RowOutcome {
  if (warnings.length === 0) return [outcome, line, candidateId, testCode, record];
  return [outcome, line, candidateId, testCode, record, warnings.map(shortened)];
}

export function refused(origin: Origin, faults: readonly Fault[], record = ''): RowOutcome {
  const { line, candidateId, testCode } = origin;
  const located = faults.map((fault) => shortened(origin.locate(fault)));
  return ['REFUSED', line, candidateId.slice(0, LONGEST_VALUE), testCode.slice(0, LONGEST_VALUE), record, located];
}

export function refusedBy(origin: Origin, { errors, code, detail, members }: DomainError, record = ''): RowOutcome {
  const there = members['svc_eligiblity_id'];
  const faults = errors.length > 0 ? errors : [{ pointer: '', code, detail }];
  return refused(origin, faults, typeof there === 'string' ? there : record);
}

function shortened(fault: ReportFault): ReportFault {
  if (fault.value === undefined || fault.value.length <= LONGEST_VALUE) return fault;
  return { ...fault, value: `${fault.value.slice(0, LONGEST_VALUE).toWellFormed()}…` };
}
