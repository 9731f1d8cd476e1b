import { CandidateModel, EligibilityModel } from '../eligibility/eligibility-model.fields.js';
import { declareFaults, type Fault } from '../platform/errors.js';
import { formOf } from '../platform/validation/fields.js';
import { escapePointer, nearestHint } from '../platform/validation/members.js';

declareFaults({
  action_invalid: ['There is no such action.', 'Use ADD, UPDATE or CANCEL.'],
  column_count_invalid: [
    'The line has not as many cells as there are columns.',
    'Give each column a cell, an empty one where there is no value.',
  ],
  candidate_erased: [
    'The candidate was erased before the row was done.',
    'Nothing to do: the row has gone with the candidate.',
  ],
  column_repeated: ['The file has two columns of one name.', 'Give each column once.'],
});

/** Between the entries of a list in one cell. */
export const LIST_SEPARATOR = ';';
const ATTRIBUTE = 'attributes.';
const CANDIDATE = 'candidate.';

const LISTS = new Set(['portion_codes', 'voucher_codes', 'special_accommodations']);
const OF_CANDIDATE = namesOf(CandidateModel).filter((name) => name !== 'additional_attributes');
const OF_RECORD = namesOf(EligibilityModel).filter((name) => name !== 'candidate');
/** Told by an export; in an import they have no effect, as in the body of a single call. */
const READ_ONLY = [
  'svc_eligiblity_id',
  'status',
  'eligible_to_schedule',
  'eligibility_status_message',
  'created_datetime',
] as const;

/** The columns of an export, before one for each attribute key of the account. */
export const EXPORTED = [
  'candidate_id',
  'test_code',
  ...OF_CANDIDATE.filter((name) => name !== 'candidate_id'),
  ...OF_RECORD.filter((name) => name !== 'test_code'),
  ...READ_ONLY,
];

export const attributeColumn = (key: string): string => `${ATTRIBUTE}${key}`;
export const isCandidateColumn = (name: string): boolean => OF_CANDIDATE.includes(name);

function namesOf(dto: typeof CandidateModel | typeof EligibilityModel): string[] {
  return [...formOf(dto).fields.keys()];
}

/** Where a cell of the column goes in the row. */
type Place =
  | { kind: 'action' }
  | { kind: 'record'; name: string }
  | { kind: 'candidate'; name: string }
  | { kind: 'attribute'; key: string }
  | { kind: 'idle' };

/** The first line of a file, understood. */
export class Columns {
  private constructor(private readonly places: readonly Place[]) {}

  /** @returns the columns, or every fault that the line has */
  static read(names: readonly string[]): Columns | Fault[] {
    const faults: Fault[] = [];
    const places: Place[] = [];
    const seen = new Set<string>();
    for (const name of names) {
      const pointer = `/${escapePointer(name)}`;
      const place = placeOf(name);
      if (place === null) {
        faults.push({
          pointer,
          code: 'unknown_field',
          detail: `There is no such column.${nearestHint(name, ['action', ...EXPORTED])}`,
        });
        continue;
      }
      const key = JSON.stringify(place.kind === 'idle' ? name : place);
      if (seen.has(key)) faults.push({ pointer, code: 'column_repeated', detail: 'The column stands twice.' });
      seen.add(key);
      places.push(place);
    }
    for (const place of [
      { kind: 'candidate', name: 'candidate_id' },
      { kind: 'record', name: 'test_code' },
    ])
      if (!seen.has(JSON.stringify(place)))
        faults.push({ pointer: `/${place.name}`, code: 'required', detail: 'There must be such a column.' });
    return faults.length > 0 ? faults : new Columns(places);
  }

  get count(): number {
    return this.places.length;
  }

  /** The Eligibility Model that a line says, with `action`. An empty cell is a member left out. */
  rowOf(cells: readonly string[]): Record<string, unknown> {
    const candidate: Record<string, unknown> = {};
    const row: Record<string, unknown> = { candidate };
    const attributes: { key: string; value: string }[] = [];
    this.places.forEach((place, index) => {
      const cell = cells[index];
      if (cell === '' || place.kind === 'idle') return;
      if (place.kind === 'action') row['action'] = cell;
      else if (place.kind === 'attribute') attributes.push({ key: place.key, value: cell });
      else (place.kind === 'candidate' ? candidate : row)[place.name] = valueOf(place.name, cell);
    });
    if (attributes.length > 0) candidate['additional_attributes'] = attributes;
    return row;
  }
}

function valueOf(name: string, cell: string): unknown {
  return LISTS.has(name) ? cell.split(LIST_SEPARATOR).filter((entry) => entry !== '') : cell;
}

function placeOf(name: string): Place | null {
  if (name === 'action') return { kind: 'action' };
  if (OF_RECORD.includes(name)) return { kind: 'record', name };
  if (name.startsWith(ATTRIBUTE) && name.length > ATTRIBUTE.length)
    return { kind: 'attribute', key: name.slice(ATTRIBUTE.length) };
  const member = name.startsWith(CANDIDATE) ? name.slice(CANDIDATE.length) : name;
  if (OF_CANDIDATE.includes(member)) return { kind: 'candidate', name: member };
  return (READ_ONLY as readonly string[]).includes(name) ? { kind: 'idle' } : null;
}
