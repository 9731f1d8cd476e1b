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

/** What became of a row. */
export type Outcome = 'CREATED' | 'UPDATED' | 'CANCELLED' | 'REFUSED';

/** The outcome of a row as it is kept: its word, and what a refused row has against it. */
export type RowOutcome = [outcome: Outcome] | [outcome: 'REFUSED', faults: Fault[]];

export const MOST_ROWS = 1_000_000;
export const MOST_BYTES = 512 * 1024 * 1024;
/** Of one row: as much as the body of a single call may have. */
export const MOST_ROW_BYTES = 256 * 1024;

export type ImportFormat = 'CSV' | 'NDJSON';

/**
 * A row as it waits: the Eligibility Model with `action` that a line of CSV says, the text of a line of NDJSON, or what a
 * line has against it that could not be read.
 */
export type WaitingRow = { value: unknown } | { line: string } | { fault: Fault };

/** The format that the headers announce; null for any other, and for what is packed or not UTF-8. */
export function formatOf(contentType: string | undefined, contentEncoding: string | undefined): ImportFormat | null {
  if ((contentEncoding ?? 'identity').toLowerCase() !== 'identity') return null;
  const [type = '', ...parameters] = (contentType ?? '').toLowerCase().split(';');
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith('charset='));
  if (charset !== undefined && !/^charset="?utf-8"?$/.test(charset)) return null;
  switch (type.trim()) {
    case 'text/csv':
      return 'CSV';
    case 'application/x-ndjson':
      return 'NDJSON';
    default:
      return null;
  }
}
