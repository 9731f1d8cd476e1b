import type { Fault } from '../platform/errors.js';

export const IMPORT_STATES = ['RECEIVING', 'RUNNING', 'DONE', 'FAILED', 'ABORTED'] as const;
export type ImportState = (typeof IMPORT_STATES)[number];

/** Why an import ended before all of its rows were done, and the state that it has since: FAILED took nothing in as a whole. */
export const ENDING = {
  ABORTED: 'ABORTED',
  ABORTED_BY_OPERATOR: 'ABORTED',
  ACCESS_LOST: 'ABORTED',
  BODY_LOST: 'FAILED',
} as const satisfies Record<string, ImportState>;
export type Ending = keyof typeof ENDING;

export const ACTIONS = ['ADD', 'UPDATE', 'CANCEL'] as const;
export type Action = (typeof ACTIONS)[number];

/** The outcome of a row. UNCHANGED: an update that says nothing else than the record does. */
export type Outcome = 'CREATED' | 'UPDATED' | 'UNCHANGED' | 'CANCELLED' | 'REFUSED';

/** A fault, or a warning, as the report tells it: with the column's own name, and the value as it stood. */
export type ReportFault = Fault & { column?: string; value?: string };

/**
 * The outcome of a row as it is kept: the line on which it begins, whom it is about as far as it says, the id of the record
 * that is there, and what a refused row has against it, or a row that was done should be looked at for.
 */
export type RowOutcome = [
  outcome: Outcome,
  line: number,
  candidateId: string,
  testCode: string,
  svcEligibilityId: string,
  faults?: ReportFault[],
];

export const MOST_ROWS = 1_000_000;
export const MOST_BYTES = 512 * 1024 * 1024;
/** Of one row: as much as the body of a single call may have. */
export const MOST_ROW_BYTES = 256 * 1024;

type ImportFormat = 'CSV' | 'NDJSON';

/**
 * A row as it waits, with the line of the file on which it begins: the cells of a line of CSV, the text of a line of NDJSON, or
 * what is said of it instead.
 */
export type WaitingRow = { line: number } & ({ cells: string[] } | { json: string } | { fault: Fault });

/** How a body is written: its format, and the encoding that its type declares. */
export interface BodyForm {
  readonly format: ImportFormat;
  readonly charset: string;
}

/** The form that a media type announces; null for any other type, and for an encoding that is not known. */
export function formOfType(contentType: string | undefined): BodyForm | null {
  const [type = '', ...parameters] = (contentType ?? '').toLowerCase().split(';');
  const declared = parameters
    .map((one) => /^\s*charset="?([^"]*)"?\s*$/.exec(one)?.[1])
    .find((one) => one !== undefined);
  const charset = declared ?? 'utf-8';
  const format = FORMATS.get(type.trim());
  return format !== undefined && isKnownEncoding(charset) ? { format, charset } : null;
}

const FORMATS = new Map<string, ImportFormat>([
  ['text/csv', 'CSV'],
  ['application/x-ndjson', 'NDJSON'],
]);

function isKnownEncoding(label: string): boolean {
  try {
    new TextDecoder(label);
    return true;
  } catch {
    return false;
  }
}
