import { pipeline, Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { payloadTooLarge, validationError, type DomainError } from '../platform/errors.js';
import { textOf } from './body-text.js';
import { Columns } from './columns.js';
import { readCell } from './csv-cell.js';
import { malformedCsv, malformedNdjson } from './imports.errors.js';
import { MOST_ROW_BYTES, type BodyForm, type WaitingRow } from './imports.rules.js';

const LINE_END = 0x0a;
const SEPARATORS = [',', ';', '\t'];
/** Matches a first line that only names the separator, such as `sep=;`, which Excel writes. */
const SEPARATOR_LINE = /^"?sep=([^"\w\s]|\t)"?[;,\t]*$/i;
const LINE_BREAK = /\r\n|\n|\r/g;

/**
 * Reads the rows of a body while its chunks arrive. At most one row and some chunks are in memory. Rows whose cells are
 * all empty are skipped. Lines are numbered as in an editor.
 */
export class RowReader {
  /** The columns of the CSV header, after it was read; null for NDJSON. */
  columns: readonly string[] | null = null;

  constructor(private readonly form: BodyForm) {}

  /**
   * Yields the rows of a body.
   * @throws DomainError malformed_csv, malformed_ndjson, payload_too_large; validation_error with all faults in the
   * header line
   */
  rows(pieces: AsyncIterable<Buffer>): AsyncIterable<WaitingRow> {
    const isCsv = this.form.format === 'CSV';
    const text = textOf(pieces, this.form.charset, isCsv ? malformedCsv : malformedNdjson);
    return isCsv ? this.csvRows(text) : ndjsonRows(text);
  }

  private async *csvRows(text: AsyncIterable<Buffer>): AsyncIterable<WaitingRow> {
    const file = await openCsv(text);
    const parser = parse({
      delimiter: file.separator,
      record_delimiter: ['\r\n', '\n', '\r'],
      relax_column_count: true,
      max_record_size: MOST_ROW_BYTES,
    });
    const passed = new PassedLines(file.firstLine);
    // The callback of each write to the CSV parser ignores errors, because the parser throws the errors again when its
    // rows are read.
    pipeline(Readable.from(passed.watch(file.text)), parser, () => undefined);
    let columns: Columns | null = null;
    let line = file.firstLine;
    try {
      for await (const record of parser as AsyncIterable<string[]>) {
        const begins = line;
        line += 1 + lineBreaksIn(record);
        if (record.every((cell) => cell.trim() === '')) continue;
        const cells = record.map(readCell);
        if (columns !== null) {
          yield { line: begins, cells: withoutEmptyEnd(cells, columns.count) };
          continue;
        }
        const names = withoutEmptyEnd(cells, 0).map((cell) => cell.trim());
        const read = Columns.read(names);
        if (!(read instanceof Columns)) throw validationError.error({ detail: COLUMNS_AT_FAULT, errors: read });
        columns = read;
        this.columns = names;
      }
    } catch (error) {
      throw error instanceof CsvError ? refusalOf(error, passed) : error;
    }
    if (columns === null)
      throw malformedCsv.error({ detail: 'The file is empty: its first line must name the columns.' });
  }
}

/** Removes the empty cells at the end of a row that has more cells than there are columns. */
function withoutEmptyEnd(cells: string[], columns: number): string[] {
  let count = cells.length;
  while (count > columns && cells[count - 1].trim() === '') count--;
  return cells.slice(0, count);
}

function lineBreaksIn(record: readonly string[]): number {
  let count = 0;
  for (const cell of record) if (cell.includes('\n') || cell.includes('\r')) count += cell.match(LINE_BREAK)!.length;
  return count;
}

interface OpenedCsv {
  readonly separator: string;
  readonly text: AsyncIterable<Buffer>;
  /** The number of the line in the file at which `text` begins. */
  readonly firstLine: number;
}

/**
 * Detects the separator of a CSV file. The first line may name the separator. Otherwise, the possible separator that
 * occurs most often in the header line, outside quotes, is used. The detection of the CSV library is not used, because
 * it would count separators in the first kilobytes, where addresses contain commas and lists contain semicolons.
 */
async function openCsv(source: AsyncIterable<Buffer>): Promise<OpenedCsv> {
  const pieces = source[Symbol.asyncIterator]();
  let head: Buffer = Buffer.alloc(0);
  let ended = false;
  const lineAt = (from: number): { text: string; next: number } | null => {
    const text = head.subarray(from).toString('utf8');
    const [end] = /\r\n|\n|\r(?!$)/.exec(text) ?? [];
    if (end === undefined && !ended && text.length <= MOST_ROW_BYTES) return null;
    const line = end === undefined ? text : text.slice(0, text.indexOf(end));
    return { text: line, next: from + Buffer.byteLength(line) + (end?.length ?? 0) };
  };
  const nextLine = async (from: number) => {
    for (;;) {
      const line = lineAt(from);
      if (line !== null) return line;
      const next = await pieces.next();
      if (next.done === true) ended = true;
      else head = Buffer.concat([head, next.value]);
    }
  };
  const first = await nextLine(0);
  const said = SEPARATOR_LINE.exec(first.text)?.[1];
  let from = said === undefined ? 0 : first.next;
  let firstLine = said === undefined ? 1 : 2;
  let header = said === undefined ? first : await nextLine(from);
  // Rows whose cells are all empty may precede the header line of a CSV file.
  while (said === undefined && /^[\s,;"]*$/.test(header.text) && header.next < head.length) {
    from = header.next;
    firstLine++;
    header = await nextLine(from);
  }
  if (/^\s*[[{]/.test(header.text)) throw malformedCsv.error({ detail: IS_JSON });
  const rest = head.subarray(from);
  const text = async function* (): AsyncIterable<Buffer> {
    yield rest;
    for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) yield next.value;
  };
  return { separator: said ?? separatorIn(header.text), text: text(), firstLine };
}

function separatorIn(header: string): string {
  const bare = header.replaceAll(/"(?:[^"]|"")*"/g, '');
  const counts = SEPARATORS.map((separator) => bare.split(separator).length);
  return SEPARATORS[counts.indexOf(Math.max(...counts))];
}

/**
 * Keeps the most recent bytes that were passed to the parser, so that the line number of an error can be determined.
 * The kept bytes include all bytes that are not parsed yet. Before these, at least as many bytes are kept as the
 * longest possible row has.
 */
class PassedLines {
  private readonly pieces: { start: number; line: number; piece: Buffer }[] = [];
  private bytes = 0;

  constructor(private line: number) {}

  async *watch(text: AsyncIterable<Buffer>): AsyncIterable<Buffer> {
    for await (const piece of text) {
      this.pieces.push({ start: this.bytes, line: this.line, piece });
      this.bytes += piece.length;
      this.line += lineEndsIn(piece);
      while (this.pieces.length > 1 && this.pieces[1].start < this.bytes - 4 * MOST_ROW_BYTES) this.pieces.shift();
      yield piece;
    }
  }

  /** Returns the number of the line in the file that contains the byte at the given position. */
  lineOf(byte: number): number {
    const held = this.pieces.findLast(({ start }) => start <= byte);
    return held === undefined ? this.line : held.line + lineEndsIn(held.piece.subarray(0, byte - held.start));
  }
}

function lineEndsIn(piece: Buffer): number {
  let count = 0;
  for (let at = piece.indexOf(LINE_END); at >= 0; at = piece.indexOf(LINE_END, at + 1)) count++;
  return count;
}

/**
 * Returns the error for a file that the CSV parser could not read. The parser's message may quote the file, so the
 * error names only the line number. The number is not taken from the parser, because the parser counts a CRLF within
 * quotes as two lines.
 */
function refusalOf(error: CsvError, passed: PassedLines): DomainError {
  // The CSV parser reports the position at which the last complete cell ends. The faulty cell begins on the same line.
  const line = passed.lineOf(Number((error as { bytes?: unknown }).bytes ?? 0));
  switch (error.code) {
    case 'CSV_MAX_RECORD_SIZE':
      return payloadTooLarge.error({
        detail: `The row of line ${line} is longer than ${MOST_ROW_BYTES / 1024} KiB: perhaps a quote that opens there is not closed.`,
      });
    case 'CSV_QUOTE_NOT_CLOSED':
      return malformedCsv.error({ detail: `The quote that opens in line ${line} is not closed.` });
    case 'CSV_INVALID_CLOSING_QUOTE':
      return malformedCsv.error({
        detail: `The quoted cell that begins in line ${line} continues after its closing quote. Write a quote within the cell twice.`,
      });
    default:
      return malformedCsv.error({
        detail: `Line ${line} has a quote in a cell that does not begin with a quote: put the cell in quotes, and write the quote twice.`,
      });
  }
}

async function* ndjsonRows(text: AsyncIterable<Buffer>): AsyncIterable<WaitingRow> {
  let begun: Buffer[] = [];
  let bytes = 0;
  let number = 1;
  let isFirst = true;
  const row = (): WaitingRow | null => {
    const json = Buffer.concat(begun).toString('utf8').trim();
    begun = [];
    bytes = 0;
    const line = number++;
    if (json === '') return null;
    if (isFirst && json.startsWith('[')) throw malformedNdjson.error({ detail: IS_ARRAY });
    isFirst = false;
    return { line, json };
  };
  const add = (part: Buffer): void => {
    begun.push(part);
    bytes += part.length;
    if (bytes > MOST_ROW_BYTES)
      throw payloadTooLarge.error({ detail: `Line ${number} is longer than ${MOST_ROW_BYTES / 1024} KiB.` });
  };
  for await (const piece of text) {
    let at = 0;
    for (let end = piece.indexOf(LINE_END); end >= 0; end = piece.indexOf(LINE_END, at)) {
      add(piece.subarray(at, end));
      at = end + 1;
      const found = row();
      if (found !== null) yield found;
    }
    if (at < piece.length) add(piece.subarray(at));
  }
  const last = row();
  if (last !== null) yield last;
}

const COLUMNS_AT_FAULT = 'The header line is not valid. Each entry of `errors` describes one error.';
const IS_JSON =
  'The file is JSON. Write each record as an object on a line of its own, and send the file as application/x-ndjson.';
const IS_ARRAY =
  'The file is a JSON array. Write each record as an object on a line of its own, without the brackets around them and the commas between them.';
