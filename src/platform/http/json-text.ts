import { isUtf8 } from 'node:buffer';
import { malformedJson, payloadTooLarge, type DomainError } from '../errors.js';

const MOST_DEPTH = 64;
const MOST_VALUES = 100_000;
/**
 * The length, in bytes, up to which a JSON text need not be scanned. Such a text cannot have too many values, because
 * each value, together with its comma, takes at least two bytes.
 */
const UNCOUNTED_BYTES = 2 * MOST_VALUES;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Checks the encoding and the limits of a JSON text. A large text is scanned before it is parsed, so that a text with
 * too many values is refused without the cost of parsing.
 * @throws DomainError malformed_json, payload_too_large
 */
export function assertJsonBytes(bytes: Buffer): void {
  if (bytes.length === 0) throw malformedJson.error({ detail: 'The body is empty.' });
  if (!isUtf8(bytes)) throw malformedJson.error({ detail: 'The body is not valid UTF-8.' });
  const excess = bytes.length > UNCOUNTED_BYTES ? excessOf(bytes) : null;
  if (excess === 'depth') throw tooDeep();
  if (excess === 'values')
    throw payloadTooLarge.error({ detail: `The body has more than ${MOST_VALUES} JSON values.` });
}

/** Returns the bytes without a byte order mark. A parser may ignore such a mark (RFC 8259 §8.1). */
export function withoutMark(bytes: Buffer): Buffer {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;
}

/**
 * Parses a JSON text. For a long text, call {@link assertJsonBytes} first, which checks the nesting depth.
 * @throws DomainError malformed_json
 */
export function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw notJson();
  }
  if (text.length <= UNCOUNTED_BYTES && isDeeperThan(value, MOST_DEPTH)) throw tooDeep();
  return value;
}

/** The detail of the error for a text that is not JSON. */
export const NOT_JSON = `The body must be one JSON value in UTF-8 (RFC 8259), nested at most ${MOST_DEPTH} levels deep.`;

/** Returns the error for a text that is not JSON. Repeated members have an error of their own (json-members.ts). */
export function notJson(): DomainError {
  return malformedJson.error({ detail: NOT_JSON });
}

function tooDeep(): Error {
  return malformedJson.error({ detail: `The JSON is nested more than ${MOST_DEPTH} levels deep.` });
}

/**
 * Returns the limit (number of values or nesting depth) that a JSON text exceeds first; null if it exceeds none.
 * Objects, lists and members count as values, even if a name is repeated. The number of values is the number of commas,
 * plus one for each object or list that is not empty, plus one. For a text that is not JSON, the result has no meaning.
 */
export function excessOf(json: Buffer, mostValues = MOST_VALUES, mostDepth = MOST_DEPTH): 'values' | 'depth' | null {
  let values = 1;
  let depth = 0;
  let opened = false;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at];
    if (isBlank(byte)) continue;
    const closes = byte === 0x7d || byte === 0x5d;
    if ((byte === 0x2c || (opened && !closes)) && ++values > mostValues) return 'values';
    opened = byte === 0x7b || byte === 0x5b;
    if (opened && ++depth > mostDepth) return 'depth';
    if (closes) depth--;
    else if (byte === QUOTE) at = endOfString(json, at);
  }
  return null;
}

/** Returns the index of the closing quote of the string that opens at `at`; the length of the text if there is none. */
export function endOfString(json: Buffer, at: number): number {
  for (let end = at; ;) {
    end = json.indexOf(QUOTE, end + 1);
    if (end < 0) return json.length;
    let backslashes = 0;
    while (json[end - 1 - backslashes] === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return end;
  }
}

/** Returns whether the byte is white space in JSON. */
export function isBlank(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** Returns the index of the first byte from `at` on that is not white space. */
export function afterBlanks(json: Buffer, at: number): number {
  while (isBlank(json[at])) at++;
  return at;
}

/**
 * Returns the string that a JSON text contains between two byte offsets. The offsets include the quotes.
 * @throws DomainError malformed_json
 */
export function stringIn(json: Buffer, start: number, end: number): string {
  for (let at = start; at < end; at++)
    if (json[at] === BACKSLASH) return parseJson(json.toString('utf8', start, end)) as string;
  return json.toString('utf8', start + 1, end - 1);
}

function isDeeperThan(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (depth === 0) return true;
  for (const member of Object.values(value)) if (isDeeperThan(member, depth - 1)) return true;
  return false;
}
