import { escapePointer } from '../validation/members.js';
import { malformedJson } from '../errors.js';
import { assertJsonBytes, endOfString, parseJson, withoutMark } from './json-text.js';

const MOST_NAMED = 100;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const OPEN = 0x7b;
const CLOSE = 0x7d;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;

export interface RepeatedMember {
  readonly pointer: string;
  /** Whether the text differs from the earlier value's. */
  readonly differs: boolean;
}

/**
 * Parses a JSON body without repeated members. A large body is scanned before it is parsed, so that one with too many
 * values costs no more.
 * @throws DomainError malformed_json, payload_too_large
 */
export function parseJsonBody(bytes: Buffer): unknown {
  assertJsonBytes(bytes);
  return parseStrictJson(withoutMark(bytes));
}

/** @throws DomainError malformed_json */
export function parseStrictJson(json: Buffer): unknown {
  const value = parseJson(json.toString('utf8'));
  const [repeated] = repeatedMembers(json);
  if (repeated === undefined) return value;
  throw malformedJson.error({ detail: `The member ${repeated.pointer} appears more than once. Keep one of them.` });
}

/**
 * Finds members that occur more than once in one object. RFC 8259 §4 leaves open which of them counts; `JSON.parse`
 * uses the last.
 * @param json a well-formed JSON text
 */
export function repeatedMembers(json: Buffer): RepeatedMember[] {
  const walk = new Walk(json);
  walk.value(walk.afterBlanks(0));
  return walk.found;
}

class Walk {
  readonly found: RepeatedMember[] = [];
  private readonly path: (string | number)[] = [];

  constructor(private readonly json: Buffer) {}

  /** Walks the value that begins at this byte; returns the index of the following byte. */
  value(at: number): number {
    const { json } = this;
    const opening = json[at];
    if (opening === QUOTE) return endOfString(json, at) + 1;
    if (opening === OPEN) return this.object(at);
    if (opening === OPEN_LIST) return this.list(at);
    while (at < json.length && !isEnd(json[at])) at++;
    return at;
  }

  afterBlanks(at: number): number {
    while (isBlank(this.json[at])) at++;
    return at;
  }

  private object(start: number): number {
    const { json, path } = this;
    const seen = new Map<string, Buffer>();
    let at = this.afterBlanks(start + 1);
    while (json[at] !== CLOSE && at < json.length) {
      const end = endOfString(json, at);
      const name = this.nameAt(at, end);
      const from = this.afterBlanks(this.afterBlanks(end + 1) + 1);
      path.push(name);
      const to = this.value(from);
      const value = json.subarray(from, to);
      const earlier = seen.get(name);
      if (earlier === undefined) seen.set(name, value);
      else this.add(!earlier.equals(value));
      path.pop();
      at = this.afterComma(to);
    }
    return at + 1;
  }

  private list(start: number): number {
    const { json, path } = this;
    let at = this.afterBlanks(start + 1);
    for (let index = 0; json[at] !== CLOSE_LIST && at < json.length; index++) {
      path.push(index);
      at = this.afterComma(this.value(at));
      path.pop();
    }
    return at + 1;
  }

  private add(differs: boolean): void {
    const pointer = this.path.map((part) => `/${escapePointer(String(part))}`).join('');
    if (this.found.length < MOST_NAMED) this.found.push({ pointer, differs });
  }

  private nameAt(start: number, end: number): string {
    const { json } = this;
    const isPlain = !json.subarray(start, end).includes(BACKSLASH);
    return isPlain
      ? json.toString('utf8', start + 1, end)
      : (JSON.parse(json.toString('utf8', start, end + 1)) as string);
  }

  private afterComma(at: number): number {
    at = this.afterBlanks(at);
    return this.json[at] === COMMA ? this.afterBlanks(at + 1) : at;
  }
}

function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function isEnd(byte: number | undefined): boolean {
  return byte === COMMA || byte === CLOSE || byte === CLOSE_LIST || isBlank(byte);
}
