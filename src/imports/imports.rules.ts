import type { Fault } from '../platform/errors.js';

export const IMPORT_STATES = ['RECEIVING', 'RUNNING', 'DONE', 'FAILED', 'ABORTED'] as const;
export type ImportState = (typeof IMPORT_STATES)[number];

/** The state of an import for each way in which it can end early. FAILED means that no row was accepted. */
export const ENDING = {
  ABORTED: 'ABORTED',
  ABORTED_BY_OPERATOR: 'ABORTED',
  ACCESS_LOST: 'ABORTED',
  BODY_LOST: 'FAILED',
} as const satisfies Record<string, ImportState>;
export type Ending = keyof typeof ENDING;

export const ACTIONS = ['ADD', 'UPDATE', 'CANCEL'] as const;
export type Action = (typeof ACTIONS)[number];

/** The outcome of a row. UNCHANGED means that the update would not change the record. */
export const OUTCOMES = ['CREATED', 'UPDATED', 'UNCHANGED', 'CANCELLED', 'REFUSED'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** A fault or a warning in a report, with the name of its column in the file and the original value. */
export type ReportFault = Fault & { column?: string; value?: string };

/**
 * The stored outcome of a row of an import. It contains the number of the row's first line, the candidate and test if
 * they are known, the id of the record if there is one, and the faults or warnings.
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
/** The maximum size of a row, in bytes. It equals the limit for the body of a request about one record. */
export const MOST_ROW_BYTES = 256 * 1024;

type ImportFormat = 'CSV' | 'NDJSON';

/**
 * A row that waits to be processed. It contains the number of the row's first line in the file. It also contains the
 * cells of a CSV line, the text of an NDJSON line, or the error in a line that cannot be read.
 */
export type WaitingRow = { line: number } & ({ cells: string[] } | { json: string } | { fault: Fault });

/** The form of an import's body: the format, and the declared encoding. */
export interface BodyForm {
  readonly format: ImportFormat;
  readonly charset: string;
}

/**
 * Returns the format and the encoding that a media type names; null for a type that is not supported, and for an
 * unknown encoding.
 */
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
