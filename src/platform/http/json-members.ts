import { escapePointer } from '../validation/members.js';
import { malformedJson } from '../errors.js';
import { afterBlanks, assertJsonBytes, endOfString, isBlank, parseJson, stringIn, withoutMark } from './json-text.js';

const MOST_NAMED = 100;
/**
 * The nesting depth up to which repeated members are reported even beyond {@link MOST_NAMED}, because members close to
 * the root may change the meaning of the whole body.
 */
const NEAR_THE_TOP = 2;
/**
 * The maximum length of a name in a pointer; longer names are cut. A pointer contains the name of its member and the
 * names of all objects around the member.
 */
const MOST_OF_A_NAME = 100;
const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN = 0x7b;
const CLOSE = 0x7d;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;

/**
 * Parses a JSON body, and refuses it if an object has the same member more than once. A large body is scanned before it
 * is parsed, so that a body with too many values is refused without the cost of parsing.
 * @throws DomainError malformed_json, payload_too_large
 */
export function parseJsonBody(bytes: Buffer): unknown {
  assertJsonBytes(bytes);
  return parseStrictJson(withoutMark(bytes));
}

/**
 * Parses a JSON text, and refuses it if an object has the same member more than once.
 * @throws DomainError malformed_json
 */
export function parseStrictJson(json: Buffer): unknown {
  const value = parseJson(json.toString('utf8'));
  const [pointer] = Walk.over(json, 1, () => true);
  if (pointer === undefined) return value;
  throw malformedJson.error({ detail: `The member ${pointer} appears more than once. Send the member once.` });
}

/**
 * Returns JSON Pointers to the members that occur more than once in their object, with different values. RFC 8259 §4
 * leaves open which of the values counts; `JSON.parse` uses the last.
 * @param json a well-formed JSON text
 */
export function repeatedMembers(json: Buffer): string[] {
  return Walk.over(json, MOST_NAMED, (one, other) => !one.equals(other));
}

class Walk {
  private readonly found: string[] = [];
  private readonly path: (string | number)[] = [];

  private constructor(
    private readonly json: Buffer,
    private readonly most: number,
    private readonly isFound: (earlier: Buffer, value: Buffer) => boolean,
  ) {}

  /** Returns JSON Pointers to those repeated members of a well-formed JSON text for which `isFound` returns true. */
  static over(json: Buffer, most: number, isFound: (earlier: Buffer, value: Buffer) => boolean): string[] {
    const walk = new Walk(json, most, isFound);
    walk.value(afterBlanks(json, 0));
    return walk.found;
  }

  /** Scans the JSON value that begins at the given byte; returns the index of the byte after the value. */
  private value(at: number): number {
    const { json } = this;
    const opening = json[at];
    if (opening === QUOTE) return endOfString(json, at) + 1;
    if (opening === OPEN) return this.object(at);
    if (opening === OPEN_LIST) return this.list(at);
    while (at < json.length && !isEnd(json[at])) at++;
    return at;
  }

  private object(start: number): number {
    const { json, path } = this;
    // The byte offsets of the values. A Buffer for each of 100,000 values would need much memory.
    const seen = new Map<string, readonly [from: number, to: number]>();
    let at = afterBlanks(json, start + 1);
    while (json[at] !== CLOSE && at < json.length) {
      const end = endOfString(json, at);
      const name = stringIn(json, at, end + 1);
      const from = afterBlanks(json, afterBlanks(json, end + 1) + 1);
      path.push(name);
      const to = this.value(from);
      const earlier = seen.get(name);
      if (earlier === undefined) seen.set(name, [from, to]);
      else if (this.hasRoom && this.isFound(json.subarray(...earlier), json.subarray(from, to))) this.add();
      path.pop();
      at = this.afterComma(to);
    }
    return at + 1;
  }

  private list(start: number): number {
    const { json, path } = this;
    let at = afterBlanks(json, start + 1);
    for (let index = 0; json[at] !== CLOSE_LIST && at < json.length; index++) {
      path.push(index);
      at = this.afterComma(this.value(at));
      path.pop();
    }
    return at + 1;
  }

  private get hasRoom(): boolean {
    const { length } = this.found;
    return length < this.most || (this.most > 1 && this.path.length <= NEAR_THE_TOP && length < 2 * this.most);
  }

  private add(): void {
    const names = this.path.map((part) => String(part));
    this.found.push(names.map((name) => `/${escapePointer(name.slice(0, MOST_OF_A_NAME).toWellFormed())}`).join(''));
  }

  private afterComma(at: number): number {
    const { json } = this;
    at = afterBlanks(json, at);
    return json[at] === COMMA ? afterBlanks(json, at + 1) : at;
  }
}

function isEnd(byte: number | undefined): boolean {
  return byte === COMMA || byte === CLOSE || byte === CLOSE_LIST || isBlank(byte);
}
