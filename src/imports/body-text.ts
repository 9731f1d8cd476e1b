import { isUtf8 } from 'node:buffer';
import type { DomainError, Problem } from '../platform/errors.js';

const LINE_END = 0x0a;
const SAVE = 'Save it as "CSV UTF-8" and send it again.';

/** The first bytes of other types of file, which users upload by mistake instead of CSV or NDJSON. */
const OTHER_FILES: readonly (readonly [bytes: number[], what: string])[] = [
  [[0x50, 0x4b, 0x03, 0x04], `The file is an Excel workbook (.xlsx) or another ZIP archive. ${SAVE}`],
  [[0xd0, 0xcf, 0x11, 0xe0], `The file is an old Excel workbook (.xls). ${SAVE}`],
  [[0x1f, 0x8b], 'The file is compressed with gzip. Decompress it and send it again.'],
  [[0x25, 0x50, 0x44, 0x46], `The file is a PDF document. ${SAVE}`],
];
/** The byte order marks that identify Unicode encodings (Unicode 16, §23.8). */
const MARKS: readonly (readonly [bytes: number[], encoding: string])[] = [
  [[0xef, 0xbb, 0xbf], 'utf-8'],
  [[0xff, 0xfe], 'utf-16le'],
  [[0xfe, 0xff], 'utf-16be'],
];
const LONGEST_MARK = 4;

/**
 * Converts a body to UTF-8 without a byte order mark, chunk by chunk. The byte order mark determines the encoding;
 * without a mark, the declared encoding applies.
 * @throws DomainError when the body is another type of file (such as a spreadsheet), or is not in the declared
 * encoding; the `detail` of the error says what to do
 */
export async function* textOf(
  pieces: AsyncIterable<Buffer>,
  declared: string,
  problem: Problem,
): AsyncIterable<Buffer> {
  const source = pieces[Symbol.asyncIterator]();
  let head: Buffer = Buffer.alloc(0);
  let ended = false;
  while (head.length < LONGEST_MARK && !ended) {
    const next = await source.next();
    if (next.done === true) ended = true;
    else head = Buffer.concat([head, next.value]);
  }
  const begins = (bytes: readonly number[]) => bytes.every((byte, index) => head[index] === byte);
  const other = OTHER_FILES.find(([bytes]) => begins(bytes));
  if (other !== undefined) throw problem.error({ detail: other[1] });
  const [mark, encoding] = MARKS.find(([bytes]) => begins(bytes)) ?? [[], new TextDecoder(declared).encoding];
  if (mark.length === 0 && !encoding.startsWith('utf-16') && head.subarray(0, LONGEST_MARK).includes(0))
    throw problem.error({ detail: `The file seems to be UTF-16 without a byte order mark. ${SAVE}` });
  const reader = encoding === 'utf-8' ? new Utf8(problem) : new Recoded(encoding, problem);
  yield* reader.read(head.subarray(mark.length));
  while (!ended) {
    const next = await source.next();
    if (next.done === true) ended = true;
    else yield* reader.read(next.value);
  }
  yield* reader.end();
}

/** Checks that a body is valid UTF-8, and passes its chunks on unchanged. */
class Utf8 {
  private readonly decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  private lines = 1;
  /** The last bytes of the previous chunk, which may be the beginning of a character. */
  private tail: Buffer = Buffer.alloc(0);

  constructor(private readonly problem: Problem) {}

  *read(piece: Buffer): Iterable<Buffer> {
    try {
      this.decoder.decode(piece, { stream: true });
    } catch {
      throw this.refusal(Buffer.concat([this.tail, piece]));
    }
    this.tail = unfinished(Buffer.concat([this.tail, piece.subarray(-4)]));
    for (let at = piece.indexOf(LINE_END); at >= 0; at = piece.indexOf(LINE_END, at + 1)) this.lines++;
    yield piece;
  }

  *end(): Iterable<Buffer> {
    try {
      this.decoder.decode();
    } catch {
      throw this.refusal(this.tail);
    }
  }

  private refusal(bytes: Buffer): DomainError {
    let line = this.lines;
    for (let at = 0; ; line++) {
      const end = bytes.indexOf(LINE_END, at);
      if (end < 0 || !isUtf8(bytes.subarray(at, end))) break;
      at = end + 1;
    }
    const detail = `Line ${line} is not UTF-8; perhaps the file is in Windows-1252. Save it as "CSV UTF-8", or declare its encoding in the Content-Type (charset=windows-1252).`;
    return this.problem.error({ detail });
  }
}

/** Returns the bytes at the end of a chunk that begin an incomplete character. */
function unfinished(bytes: Buffer): Buffer {
  for (let length = 1; length <= Math.min(3, bytes.length); length++) {
    const byte = bytes[bytes.length - length];
    if (byte >= 0xc0) return length < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? bytes.subarray(-length) : NONE;
    if (byte < 0x80) return NONE;
  }
  return NONE;
}

const NONE = Buffer.alloc(0);

/** Converts the body of an import from another encoding to UTF-8. */
class Recoded {
  private readonly decoder: InstanceType<typeof TextDecoder>;
  private lines = 1;

  constructor(
    private readonly encoding: string,
    private readonly problem: Problem,
  ) {
    this.decoder = new TextDecoder(encoding, { fatal: true, ignoreBOM: true });
  }

  *read(piece: Buffer): Iterable<Buffer> {
    yield* this.decoded(piece);
  }

  *end(): Iterable<Buffer> {
    yield* this.decoded();
  }

  private *decoded(piece?: Buffer): Iterable<Buffer> {
    let text: string;
    try {
      text = this.decoder.decode(piece, { stream: piece !== undefined });
    } catch {
      throw this.problem.error({ detail: `The file is not in ${this.encoding} from line ${this.lines} on. ${SAVE}` });
    }
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) this.lines++;
    if (text !== '') yield Buffer.from(text, 'utf8');
  }
}
