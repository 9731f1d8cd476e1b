import { afterBlanks, endOfString, stringIn } from '../../platform/http/json-text.js';

/**
 * Separates some members from the text of a body, at any depth.
 *
 * 1. `takeApart` copies the text without these members, and records the byte offset in the copy at which each removed
 *    member belongs. Members that are nested in a removed member are removed with it. White space between members is
 *    not copied.
 * 2. `putBack` reinserts any of the removed members at their offsets. The text is well-formed JSON, whichever of the
 *    removed members are reinserted.
 * 3. The text is scanned once, byte by byte, because a body may be several megabytes long and contain 100,000 values.
 *
 * Never pass a text to `putBack` that `takeApart` did not return.
 */
export interface MemberApart {
  readonly name: string;
  /** The index of the member among all removed members. */
  readonly order: number;
  /** The byte offset at which the member belongs in the copied text. */
  readonly at: number;
  /** The JSON text of the member: its name, the colon and its value. */
  readonly member: string;
}

const QUOTE = 0x22;
const OPEN = 0x7b;
const CLOSE = 0x7d;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const COMMA = 0x2c;
const NULL = 0x6e;
/** The beginning of an escape sequence in JSON. Such a sequence can spell any character of a member's name. */
const ESCAPE = '\\u';

/**
 * Removes the members with the given names from a well-formed JSON text. A member with the value null is not removed.
 */
export function takeApart(json: Buffer, names: readonly string[]): { text: Buffer; apart: MemberApart[] } {
  if (!json.includes(ESCAPE) && !names.some((name) => json.includes(name))) return { text: json, apart: [] };
  const copy = new Copy(json, new Set(names));
  copy.value(afterBlanks(json, 0));
  return copy.apart.length === 0 ? { text: json, apart: [] } : { text: copy.text, apart: copy.apart };
}

/** Puts removed members of a body back into a text that {@link takeApart} returned. */
export function putBack(text: string, apart: readonly Omit<MemberApart, 'name'>[]): string {
  if (apart.length === 0) return text;
  const bytes = Buffer.from(text);
  const places = new Map<number, string[]>();
  for (const { at, member } of [...apart].sort((one, other) => one.order - other.order))
    places.set(at, [...(places.get(at) ?? []), member]);
  const pieces: string[] = [];
  let from = 0;
  for (const [at, members] of places) {
    const isFirst = bytes[at - 1] === OPEN;
    pieces.push(bytes.toString('utf8', from, at), isFirst ? '' : ',', members.join(','));
    if (isFirst && bytes[at] !== CLOSE) pieces.push(',');
    from = at;
  }
  return pieces.join('') + bytes.toString('utf8', from);
}

class Copy {
  readonly apart: MemberApart[] = [];
  private readonly out: Buffer;
  private length = 0;

  constructor(
    private readonly json: Buffer,
    private readonly names: ReadonlySet<string>,
  ) {
    this.out = Buffer.allocUnsafe(json.length);
  }

  get text(): Buffer {
    return Buffer.from(this.out.subarray(0, this.length));
  }

  /** Copies the JSON value that begins at the given byte; returns the index of the byte after the value. */
  value(at: number): number {
    const opening = this.json[at];
    if (opening === OPEN) return this.object(at);
    if (opening === OPEN_LIST) return this.list(at);
    const end = endOfScalar(this.json, at);
    this.keep(at, end);
    return end;
  }

  private object(start: number): number {
    const { json } = this;
    this.put(OPEN);
    let isFirst = true;
    let at = afterBlanks(json, start + 1);
    while (json[at] !== CLOSE) {
      if (json[at] === COMMA) at = afterBlanks(json, at + 1);
      const nameEnd = endOfString(json, at) + 1;
      const valueAt = afterBlanks(json, afterBlanks(json, nameEnd) + 1);
      const name = stringIn(json, at, nameEnd);
      if (this.names.has(name) && json[valueAt] !== NULL) {
        const end = endOfValue(json, valueAt);
        const member = json.toString('utf8', at, end);
        this.apart.push({ name, order: this.apart.length, at: this.length, member });
        at = afterBlanks(json, end);
        continue;
      }
      if (!isFirst) this.put(COMMA);
      isFirst = false;
      this.keep(at, valueAt);
      at = afterBlanks(json, this.value(valueAt));
    }
    this.put(CLOSE);
    return at + 1;
  }

  private list(start: number): number {
    const { json } = this;
    this.put(OPEN_LIST);
    let at = afterBlanks(json, start + 1);
    while (json[at] !== CLOSE_LIST) {
      if (json[at] === COMMA) {
        this.put(COMMA);
        at = afterBlanks(json, at + 1);
      }
      at = afterBlanks(json, this.value(at));
    }
    this.put(CLOSE_LIST);
    return at + 1;
  }

  private put(byte: number): void {
    this.out[this.length++] = byte;
  }

  private keep(from: number, to: number): void {
    this.length += this.json.copy(this.out, this.length, from, to);
  }
}

function endOfScalar(json: Buffer, at: number): number {
  if (json[at] === QUOTE) return endOfString(json, at) + 1;
  while (at < json.length && !/[\s,\]}]/.test(String.fromCharCode(json[at]))) at++;
  return at;
}

function endOfValue(json: Buffer, at: number): number {
  if (json[at] !== OPEN && json[at] !== OPEN_LIST) return endOfScalar(json, at);
  for (let depth = 0; ; at++) {
    const byte = json[at];
    if (byte === QUOTE) at = endOfString(json, at);
    else if (byte === OPEN || byte === OPEN_LIST) depth++;
    else if ((byte === CLOSE || byte === CLOSE_LIST) && --depth === 0) return at + 1;
  }
}
