import { pipeline, Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { payloadTooLarge, validationError, type DomainError } from '../platform/errors.js';
import { Columns } from './columns.js';
import { readCell } from './csv-cell.js';
import { malformedCsv, malformedNdjson } from './imports.errors.js';
import { MOST_ROW_BYTES, type ImportFormat, type WaitingRow } from './imports.rules.js';

const LINE_END = 0x0a;
const MARK = '\ufeff';

/**
 * The rows of a body, as its pieces come; never more than a row and a piece is held. Empty lines are no rows.
 * @throws DomainError malformed_csv, malformed_ndjson, payload_too_large; validation_error with every fault of the columns
 */
export function readRows(format: ImportFormat, pieces: AsyncIterable<Buffer>): AsyncIterable<WaitingRow> {
  return format === 'CSV' ? csvRows(pieces) : ndjsonRows(pieces);
}

async function* csvRows(pieces: AsyncIterable<Buffer>): AsyncIterable<WaitingRow> {
  const parser = parse({
    bom: true,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: MOST_ROW_BYTES,
  });
  // What the source throws, the parser throws where it is read.
  pipeline(Readable.from(utf8(pieces, malformedCsv.error({ detail: NOT_UTF8 }))), parser, () => undefined);
  let columns: Columns | null = null;
  try {
    for await (const record of parser as AsyncIterable<string[]>) {
      const cells = record.map(readCell);
      if (columns !== null) {
        yield cells.length === columns.count ? { value: columns.rowOf(cells) } : WRONG_COUNT;
        continue;
      }
      const read = Columns.read(cells);
      if (!(read instanceof Columns)) throw validationError.error({ errors: read });
      columns = read;
    }
  } catch (error) {
    throw error instanceof CsvError ? refusalOf(error) : error;
  }
  if (columns === null) throw malformedCsv.error({ detail: 'The body is empty.' });
}

async function* ndjsonRows(pieces: AsyncIterable<Buffer>): AsyncIterable<WaitingRow> {
  let begun: Buffer[] = [];
  let bytes = 0;
  let number = 1;
  const line = (): string => {
    const text = Buffer.concat(begun).toString('utf8');
    begun = [];
    bytes = 0;
    return (number++ === 1 && text.startsWith(MARK) ? text.slice(1) : text).trim();
  };
  const add = (part: Buffer): void => {
    begun.push(part);
    bytes += part.length;
    if (bytes > MOST_ROW_BYTES) throw tooLarge(number);
  };
  for await (const piece of utf8(pieces, malformedNdjson.error({ detail: NOT_UTF8 }))) {
    let at = 0;
    for (let end = piece.indexOf(LINE_END); end >= 0; end = piece.indexOf(LINE_END, at)) {
      add(piece.subarray(at, end));
      at = end + 1;
      const text = line();
      if (text !== '') yield { line: text };
    }
    if (at < piece.length) add(piece.subarray(at));
  }
  const text = line();
  if (text !== '') yield { line: text };
}

const WRONG_COUNT: WaitingRow = {
  fault: {
    pointer: '',
    code: 'column_count_invalid',
    detail: 'The line has not as many cells as there are columns.',
  },
};
const NOT_UTF8 = 'The body is not valid UTF-8.';

/** The same pieces, as long as they are UTF-8. */
async function* utf8(pieces: AsyncIterable<Buffer>, refusal: DomainError): AsyncIterable<Buffer> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const check = (piece?: Buffer): void => {
    try {
      decoder.decode(piece, { stream: piece !== undefined });
    } catch {
      throw refusal;
    }
  };
  for await (const piece of pieces) {
    check(piece);
    yield piece;
  }
  check();
}

function tooLarge(line: number): DomainError {
  return payloadTooLarge.error({ detail: `Line ${line} is longer than ${MOST_ROW_BYTES / 1024} KiB.` });
}

/** The library's words may quote the line: only its number is told. */
function refusalOf(error: CsvError): DomainError {
  const line = Number((error as { lines?: unknown }).lines ?? 0);
  if (error.code === 'CSV_MAX_RECORD_SIZE') return tooLarge(line);
  return malformedCsv.error({ detail: `Line ${line}: a quoted cell is not closed, or a quote stands where none may.` });
}
