import { CandidateModel, EligibilityModel } from '../eligibility/eligibility-model.fields.js';
import { declareFaults, declareWarnings, type Fault } from '../platform/errors.js';
import { formOf } from '../platform/validation/fields.js';
import { escapePointer, nearestHint } from '../platform/validation/members.js';
import type { ReportFault } from './imports.rules.js';

declareFaults({
  action_invalid: ['The value in the column `action` is not a known action.', 'Use ADD, UPDATE or CANCEL.'],
  column_count_invalid: [
    'The number of cells in the line differs from the number of columns in the header.',
    'Write one cell for each column, and leave a cell empty where there is no value. If a cell contains the separator, enclose the cell in quotes.',
  ],
  record_exists: [
    'The line of the import file identifies an eligibility that already exists.',
    'Use the action UPDATE to change this eligibility. To create a new eligibility, leave svc_eligiblity_id empty.',
  ],
  record_id_invalid: [
    'The value is not a valid svc_eligiblity_id. A spreadsheet may have changed the id.',
    'Send the column as it was exported. For a new eligibility, leave the cell empty.',
  ],
  candidate_erased: [
    'The candidate’s data was erased before this row of the import was processed.',
    'No action is needed: the row was erased together with the candidate’s data.',
  ],
  column_repeated: ['The file has two columns with the same name.', 'Keep one of the two columns.'],
});
declareWarnings({
  scientific_notation: [
    'The value looks like a number that a spreadsheet has converted to scientific notation.',
    'Format the column as text, enter the complete value, and send the line again with the action UPDATE.',
  ],
  cell_too_narrow: [
    'The value looks like the ##### that a spreadsheet shows in a column that is too narrow.',
    'Put the real value into the cell, and send the line again with the action UPDATE.',
  ],
});

/** The character that separates the entries of a list in a cell. */
export const LIST_SEPARATOR = ';';
const ATTRIBUTE = 'attributes.';
const CANDIDATE = 'candidate.';

const LISTS = new Set(['portion_codes', 'voucher_codes', 'special_accommodations']);
const OF_CANDIDATE = namesOf(CandidateModel).filter((name) => name !== 'additional_attributes');
const OF_RECORD = namesOf(EligibilityModel).filter((name) => name !== 'candidate');
/** The column for the id of the record that a line changes. */
const RECORD_ID = 'svc_eligiblity_id';
/** The columns of an export that an import ignores, just as an update ignores the same members in its body. */
const READ_ONLY = ['status', 'eligible_to_schedule', 'eligibility_status_message', 'created_datetime'] as const;

/** The columns of an export. One column for each attribute key of the account follows them. */
export const EXPORTED = [
  'candidate_id',
  'test_code',
  ...OF_CANDIDATE.filter((name) => name !== 'candidate_id'),
  ...OF_RECORD.filter((name) => name !== 'test_code'),
  RECORD_ID,
  ...READ_ONLY,
];

export const attributeColumn = (key: string): string => `${ATTRIBUTE}${key}`;
export const isCandidateColumn = (name: string): boolean => OF_CANDIDATE.includes(name);

function namesOf(dto: typeof CandidateModel | typeof EligibilityModel): string[] {
  return [...formOf(dto).fields.keys()];
}

/** The meaning of a column: the action, the id of the record, a member, an attribute, or nothing (`idle`). */
type Place =
  | { kind: 'action' }
  | { kind: 'id' }
  | { kind: 'record'; name: string }
  | { kind: 'candidate'; name: string }
  | { kind: 'attribute'; key: string }
  | { kind: 'idle'; name: string };

/** The eligibility and the action in a line of an import file. */
export interface LineModel {
  readonly action: string | null;
  /** The id of the record that the line names; null if the line names no record. */
  readonly svcEligibilityId: string | null;
  /**
   * The eligibility in the form of the Eligibility Model. In a line that updates a record by its id, an empty cell
   * becomes null.
   */
  readonly model: Record<string, unknown> & { candidate: Record<string, unknown> };
  /**
   * The attributes that have a value, in the order of the columns. If the line updates a record by its id, the
   * attributes whose cells are empty follow.
   */
  readonly attributes: { key: string; value: string | null }[];
}

/** The columns of an import file, as its header line names them. */
export class Columns {
  private constructor(
    private readonly names: readonly string[],
    private readonly places: readonly Place[],
  ) {}

  /**
   * Parses the names in the header line.
   * @returns the columns, or all errors in the header line
   */
  static read(names: readonly string[]): Columns | Fault[] {
    const faults: Fault[] = [];
    const places: Place[] = [];
    const seen = new Map<string, number>();
    names.forEach((name, index) => {
      const refuse = ({ code, detail }: Pick<Fault, 'code' | 'detail'>) =>
        faults.push({
          pointer: `/${escapePointer(name)}`,
          code,
          detail: `Column ${index + 1}, "${shown(name)}": ${detail}`,
        });
      const place = placeOf(name);
      if (place === null) return refuse({ code: 'unknown_field', detail: unknownColumn(name) });
      const key = JSON.stringify(place);
      const earlier = seen.get(key);
      if (earlier !== undefined)
        return refuse({
          code: 'column_repeated',
          detail: `column ${earlier} has the same name. Keep one of the two columns.`,
        });
      seen.set(key, index + 1);
      places.push(place);
    });
    for (const place of [CANDIDATE_ID, TEST_CODE])
      if (!seen.has(JSON.stringify(place)))
        faults.push({ pointer: `/${place.name}`, code: 'required', detail: `The column ${place.name} is missing.` });
    return faults.length > 0 ? faults : new Columns(names, places);
  }

  /** Returns the columns for column names that were parsed successfully before. */
  static of(names: readonly string[]): Columns {
    const read = Columns.read(names);
    if (read instanceof Columns) return read;
    throw new TypeError('The columns were not read before.');
  }

  get count(): number {
    return this.places.length;
  }

  /** Returns the candidate id or the test code in a line, even if other values of the line are invalid. */
  cellAt(cells: readonly string[], name: 'candidate_id' | 'test_code'): string {
    const sought = name === 'test_code' ? TEST_CODE : CANDIDATE_ID;
    return (
      cells[
        this.places.findIndex(({ kind, ...place }) => kind === sought.kind && 'name' in place && place.name === name)
      ] ?? ''
    );
  }

  /**
   * Returns the eligibility and the action of a line. An empty cell means that the member is omitted. If the line
   * updates a record by its id, an empty cell means null.
   */
  read(cells: readonly string[]): LineModel {
    const cellOf = (kind: Place['kind']) => cells[this.places.findIndex((place) => place.kind === kind)] || null;
    const action = cellOf('action');
    const svcEligibilityId = cellOf('id');
    const clears = action === 'UPDATE' && svcEligibilityId !== null;
    const candidate: Record<string, unknown> = {};
    const model: LineModel['model'] = { candidate };
    const given: { key: string; value: string }[] = [];
    const cleared: { key: string; value: null }[] = [];
    this.places.forEach((place, index) => {
      const cell = cells[index];
      if (cell === '' && !clears) return;
      if (place.kind === 'attribute')
        if (cell === '') cleared.push({ key: place.key, value: null });
        else given.push({ key: place.key, value: cell });
      else if (place.kind === 'candidate' || place.kind === 'record')
        (place.kind === 'candidate' ? candidate : model)[place.name] = cell === '' ? null : valueOf(place.name, cell);
    });
    if (given.length > 0) candidate['additional_attributes'] = given;
    return { action, svcEligibilityId, model, attributes: [...given, ...cleared] };
  }

  /** Adds the name of the column, as written in the header, and the text of the cell to a fault. */
  located(fault: Fault, cells: readonly string[]): ReportFault {
    const [, first = '', second = '', third] = (fault.pointer ?? '').split('/');
    if (first === '') return fault;
    const isOfCandidate = first === 'candidate';
    const name = isOfCandidate ? second : first;
    if (name === 'additional_attributes') {
      const ofAttributes = this.places.flatMap((place, index) =>
        place.kind === 'attribute' && cells[index] !== '' ? [index] : [],
      );
      return this.withCell(fault, ofAttributes[Number(third)], cells, null);
    }
    const index = this.places.findIndex((place) =>
      place.kind === 'id'
        ? name === RECORD_ID
        : place.kind === 'action'
          ? name === 'action'
          : 'name' in place && place.name === name,
    );
    if (index < 0) return { ...fault, column: name, value: '' };
    const entry = LISTS.has(name) ? (isOfCandidate ? third : second) : undefined;
    return this.withCell(fault, index, cells, entry === undefined ? null : Number(entry || NaN));
  }

  private withCell(
    fault: Fault,
    index: number | undefined,
    cells: readonly string[],
    entry: number | null,
  ): ReportFault {
    if (index === undefined) return fault;
    const cell = cells[index] ?? '';
    const value = entry === null || Number.isNaN(entry) ? cell : (entriesOf(cell)[entry] ?? cell);
    const isBlank = cell !== '' && cell.trim() === '';
    return {
      ...fault,
      ...(isBlank ? { detail: 'The cell contains only spaces. Empty the cell, or enter a value.' } : {}),
      column: this.names[index],
      value,
    };
  }

  /**
   * Returns a warning for each value of a line that a spreadsheet program may have changed. These values are accepted.
   */
  warnings(cells: readonly string[]): ReportFault[] {
    return this.places.flatMap((place, index) => {
      const cell = cells[index] ?? '';
      if (place.kind === 'idle' || place.kind === 'action' || place.kind === 'id' || cell === '') return [];
      const warning = spoiledBySpreadsheet(cell);
      if (warning === null) return [];
      const pointer = place.kind === 'attribute' ? '/candidate/additional_attributes' : pointerOf(place);
      return [{ ...warning, pointer, column: this.names[index], value: cell }];
    });
  }
}

const CANDIDATE_ID = { kind: 'candidate', name: 'candidate_id' } as const;
const TEST_CODE = { kind: 'record', name: 'test_code' } as const;

const pointerOf = ({ kind, name }: { kind: 'candidate' | 'record'; name: string }) =>
  kind === 'candidate' ? `/candidate/${name}` : `/${name}`;

function spoiledBySpreadsheet(cell: string): Pick<Fault, 'code' | 'detail'> | null {
  if (/^\d(?:[.,]\d+)?E[+-]?\d{2,3}$/i.test(cell))
    return {
      code: 'scientific_notation',
      detail:
        'The value was accepted unchanged, but it looks like a number that a spreadsheet has shortened. Format the column as text.',
    };
  if (/^#{3,}$/.test(cell))
    return {
      code: 'cell_too_narrow',
      detail:
        'The value was accepted unchanged, but it looks like the ##### that a spreadsheet shows in a column that is too narrow.',
    };
  return null;
}

function entriesOf(cell: string): string[] {
  return cell
    .split(LIST_SEPARATOR)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}

function valueOf(name: string, cell: string): unknown {
  return LISTS.has(name) ? entriesOf(cell) : cell;
}

/**
 * Returns the member for a column name; null for an unknown name. Column names match in any case; attribute keys must
 * match exactly.
 */
function placeOf(name: string): Place | null {
  const known = name.toLowerCase();
  if (known === 'action') return { kind: 'action' };
  if (known === RECORD_ID) return { kind: 'id' };
  if (OF_RECORD.includes(known)) return { kind: 'record', name: known };
  if (known.startsWith(ATTRIBUTE) && known.length > ATTRIBUTE.length)
    return { kind: 'attribute', key: name.slice(ATTRIBUTE.length).trim() };
  const member = known.startsWith(CANDIDATE) ? known.slice(CANDIDATE.length) : known;
  if (OF_CANDIDATE.includes(member)) return { kind: 'candidate', name: member };
  return (READ_ONLY as readonly string[]).includes(known) ? { kind: 'idle', name: known } : null;
}

const LONGEST_SHOWN = 60;
const shown = (name: string): string => (name.length > LONGEST_SHOWN ? `${name.slice(0, LONGEST_SHOWN)}…` : name);

function unknownColumn(name: string): string {
  if (name === '') return 'the column has no name. Name it, or remove it.';
  if (/[,;\t]/.test(name) && name.split(/[,;\t]/).some((part) => placeOf(part.trim()) !== null))
    return 'the whole line is in one pair of quotes. Remove the quotes around each line, or save the file again with a column for each value.';
  if (/[|:]/.test(name) && name.split(/[|:]/).some((part) => placeOf(part.trim()) !== null))
    return 'the columns are not separated by commas, semicolons or tabs. Save the file as "CSV UTF-8".';
  return `there is no such column.${nearestHint(name, ['action', ...EXPORTED])}`;
}
