import { isAscii } from 'node:buffer';
import { createHash } from 'node:crypto';
import { repeatedMembers } from '../../platform/http/json-members.js';
import {
  afterBlanks,
  endOfString,
  isBlank,
  notJson,
  parseJson,
  stringIn,
  withoutMark,
} from '../../platform/http/json-text.js';
import { canonicalJson } from '../../platform/http/canonical-json.js';
import { formOf, isObject } from '../../platform/validation/fields.js';
import { judge, type Judged, type KeptFault } from './result-judgement.js';
import { putBack, takeApart, type MemberApart } from './members-apart.js';

/**
 * Splits a result's body, as received, into parts.
 *
 * 1. The bytes are split at the outermost members of the JSON object. The photo and the video link are removed and
 *    stored encrypted, each as JSON text. They are reinserted for callers who may see them. The members of {@link
 *    CREDENTIALS}, and nested photos and links, are treated in the same way at any depth (members-apart.ts).
 * 2. The remaining body is stored as text, which preserves numbers that a double cannot represent, repeated names and
 *    the order of members. The text is kept as bytes, which PostgreSQL accepts unchanged.
 * 3. The values are parsed separately, for checks, matching and hashing.
 *
 * Never rebuild the stored text from parsed values.
 */
export const PHOTO = 'userPhotoBase64String';
export const VIDEO_LINK = 'videoReviewLink';
/** The members with which a person can start the candidate's exam at the test driver. */
const CREDENTIALS = ['examPassword', 'extExamToken'];
const APART = [...CREDENTIALS, PHOTO, VIDEO_LINK];

type Dto = new () => object;

/** The parts into which a result's body is split for storage. */
export interface KeptBody {
  /** The JSON text of the body in UTF-8, without the photo, the video link and the credentials. */
  readonly text: Buffer;
  /**
   * The JSON text of the member's value. If the body also has nested members of this name, the text contains the value
   * and these members in the form of {@link Kept}. Null if the body has no member of this name.
   */
  readonly photo: Buffer | null;
  readonly videoLink: Buffer | null;
  /** The members of {@link CREDENTIALS} in the form of {@link Kept}; null if the body has none. */
  readonly credentials: Buffer | null;
  /** A hash that is the same for all equivalent bodies, regardless of the order of their members. */
  readonly hash: Buffer;
}

/** A result as it was delivered, with the sender and the time of the delivery. */
export interface Delivery {
  readonly body: KeptBody;
  readonly faults: readonly KeptFault[];
  readonly username: string;
  readonly receivedAt: Date;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const NULL_TEXT = 'null';

/**
 * Reads a body that is a JSON object. The `faults` of the returned value list the invalid members.
 * @param deciding as in {@link judge}
 * @throws DomainError malformed_json, payload_too_large, validation_error when the body is not an object
 */
export function readResultBody<T extends object>(
  dto: new () => T,
  bytes: Buffer | undefined,
  deciding: readonly (readonly string[])[] | null = null,
): { value: T; kept: KeptBody } & Judged {
  const json = bytes && withoutMark(bytes);
  const { value, whole, text, photo, videoLink, credentials } = json === undefined ? NOTHING : split(json);
  const judged = judge(dto, deciding, value, json && repeatedMembers(json));
  const hash = hashOf(dto, value as Record<string, unknown>, whole);
  return { value: value as T, kept: { text, photo, videoLink, credentials, hash }, ...judged };
}

/** Returns the stored text of a body, with the given members (the photo and the video link) inserted again. */
export function withMembers(text: string, members: Record<string, string | null>): string {
  const added = Object.entries(members).flatMap(([name, value]) =>
    value === null ? [] : [`${JSON.stringify(name)}:${value}`],
  );
  if (added.length === 0) return text;
  const inner = text.slice(1, -1).trim();
  return `{${[...(inner === '' ? [] : [inner]), ...added].join(',')}}`;
}

/** Returns the hash of a body that is not a JSON object. It never equals the hash of an object. */
export function hashOfRaw(bytes: Buffer): Buffer {
  return createHash('sha256').update('raw ').update(bytes).digest();
}

/** The prefix of the stored form of nested members. No JSON text begins with this prefix. */
const DEEPER = '@';
type Kept = { value: string | null; members: [order: number, at: number, member: string][] };

function keptMembers(value: Buffer | null, apart: readonly MemberApart[]): Buffer | null {
  if (apart.length === 0) return value;
  const members = apart.map(({ order, at, member }): Kept['members'][number] => [order, at, member]);
  const kept: Kept = { value: value && value.toString('utf8'), members };
  return Buffer.from(DEEPER + JSON.stringify(kept));
}

function readKept(kept: Buffer | null): Kept {
  if (kept === null) return { value: null, members: [] };
  const text = kept.toString('utf8');
  return text.startsWith(DEEPER) ? (JSON.parse(text.slice(1)) as Kept) : { value: text, members: [] };
}

/** Returns the stored text of a body, with the given parts inserted again. Parts that are null are omitted. */
export function wholeText(text: string, apart: Pick<KeptBody, 'photo' | 'videoLink' | 'credentials'>): string {
  const [photo, videoLink, credentials] = [apart.photo, apart.videoLink, apart.credentials].map(readKept);
  const members = [photo, videoLink, credentials].flatMap((kept) => kept.members);
  const whole = putBack(
    text,
    members.map(([order, at, member]) => ({ order, at, member })),
  );
  return withMembers(whole, { [PHOTO]: photo.value, [VIDEO_LINK]: videoLink.value });
}

/**
 * The parts of a result's body. `whole` is the JSON text that still contains the nested photos, video links and
 * credentials.
 */
type Parts = Omit<KeptBody, 'hash'> & { value: unknown; whole: Buffer };

const EMPTY = Buffer.alloc(0);
const NOTHING: Parts = { value: undefined, whole: EMPTY, text: EMPTY, photo: null, videoLink: null, credentials: null };

function split(json: Buffer): Parts {
  const members = membersOf(json);
  if (members === null) return { ...NOTHING, value: parseJson(json.toString('utf8')) };
  const apart = new Map<string, Buffer>();
  const kept: Member[] = [];
  for (const member of members)
    if (member.name === PHOTO || member.name === VIDEO_LINK)
      apart.set(member.name, json.subarray(member.valueAt, member.end));
    else kept.push(member);
  const whole = objectOf(json, kept);
  const value = parseJson(whole.toString('utf8')) as Record<string, unknown>;
  const { text, apart: deeper } = takeApart(whole, APART);
  for (const [name, literal] of apart) {
    value[name] = valueOf(literal);
    if (value[name] === null) apart.delete(name);
  }
  const of = (name: string) =>
    keptMembers(
      apart.get(name) ?? null,
      deeper.filter((member) => member.name === name),
    );
  const credentials = keptMembers(
    null,
    deeper.filter(({ name }) => CREDENTIALS.includes(name)),
  );
  return { value, whole, text, photo: of(PHOTO), videoLink: of(VIDEO_LINK), credentials };
}

/** Parses a JSON text. A string of several megabytes without escape sequences is copied only once. */
function valueOf(literal: Buffer): unknown {
  const plain = literal[0] === QUOTE && isAscii(literal) && !literal.includes(BACKSLASH);
  if (!plain) return parseJson(literal.toString('utf8'));
  const text = literal.toString('latin1', 1, literal.length - 1);
  // A JSON string contains no control characters (RFC 8259 §7).

  return /[\u0000-\u001f]/.test(text) ? malformed() : text;
}

/** Returns the JSON text of an object with the given members of `json`, without white space between the members. */
function objectOf(json: Buffer, members: readonly Member[]): Buffer {
  const bytes = members.reduce((sum, { start, end }) => sum + end - start, 0);
  const text = Buffer.allocUnsafe('{}'.length + bytes + Math.max(members.length - 1, 0));
  let length = text.write('{');
  members.forEach(({ start, end }, index) => {
    if (index > 0) length += text.write(',', length);
    length += json.copy(text, length, start, end);
  });
  text.write('}', length);
  return text;
}

/**
 * A member of a JSON object, with the byte offsets of its name, its value and its end. Offsets are used because a body
 * may have 100,000 members, and a Buffer for each of them would need much memory.
 */
interface Member {
  readonly name: string;
  readonly start: number;
  readonly valueAt: number;
  readonly end: number;
}

/**
 * Returns the members of a JSON object; null if the text is not an object. The values are not checked, because
 * JSON.parse checks them later.
 */
function membersOf(json: Buffer): Member[] | null {
  let at = afterBlanks(json, 0);
  if (json[at] !== 0x7b) return null;
  const members: Member[] = [];
  at = afterBlanks(json, at + 1);
  if (json[at] === 0x7d) return afterBlanks(json, at + 1) === json.length ? [] : malformed();
  for (;;) {
    if (json[at] !== QUOTE) malformed();
    const start = at;
    at = afterString(json, at);
    const name = stringIn(json, start, at);
    at = afterBlanks(json, at);
    if (json[at] !== 0x3a) malformed();
    const valueAt = afterBlanks(json, at + 1);
    at = afterValue(json, valueAt);
    members.push({ name, start, valueAt, end: at });
    at = afterBlanks(json, at);
    if (json[at] === 0x7d) return afterBlanks(json, at + 1) === json.length ? members : malformed();
    if (json[at] !== 0x2c) malformed();
    at = afterBlanks(json, at + 1);
  }
}

function malformed(): never {
  throw notJson();
}

/** Returns the index after the string whose opening quote is at `at`. */
function afterString(json: Buffer, at: number): number {
  const end = endOfString(json, at);
  return end < json.length ? end + 1 : malformed();
}

function afterValue(json: Buffer, at: number): number {
  if (json[at] === QUOTE) return afterString(json, at);
  let depth = 0;
  for (; at < json.length; at++) {
    const byte = json[at];
    if (byte === QUOTE) at = afterString(json, at) - 1;
    else if (byte === 0x7b || byte === 0x5b) depth++;
    else if (depth === 0 && (byte === 0x2c || byte === 0x7d || isBlank(byte))) return at;
    else if ((byte === 0x7d || byte === 0x5d) && --depth <= 0) return at + 1;
  }
  return malformed();
}

function hashOf(dto: Dto, body: Record<string, unknown>, text: Buffer): Buffer {
  const hash = createHash('sha256').update(canonicalBody(dto, body, [PHOTO, VIDEO_LINK]));
  hash.update(JSON.stringify(longNumbers(text)));
  for (const apart of [body[VIDEO_LINK], body[PHOTO]]) {
    if (apart == null) hash.update(NULL_TEXT);
    else if (typeof apart === 'string' && apart.isWellFormed()) hash.update('"').update(apart).update('"');
    else hash.update(canonicalJson(apart));
  }
  return hash.digest();
}

/**
 * Returns canonical JSON like `canonicalJson`, but a known member with the value null counts as omitted. Nothing is
 * copied, because a body may have 100,000 members.
 */
function canonicalBody(dto: Dto, value: Record<string, unknown>, leftOut: readonly string[] = []): string {
  const { fields } = formOf(dto);
  const members: string[] = [];
  for (const name of Object.keys(value).sort()) {
    const field = fields.get(name);
    const member = value[name];
    if (leftOut.includes(name) || (field && member === null)) continue;
    const text = field?.nested ? canonicalMember(field.nested(), member) : canonicalJson(member);
    members.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${members.join(',')}}`;
}

function canonicalMember(dto: Dto, member: unknown): string {
  if (Array.isArray(member)) return `[${member.map((entry) => canonicalMember(dto, entry)).join(',')}]`;
  return isObject(member) ? canonicalBody(dto, member) : canonicalJson(member);
}

/**
 * Returns those numbers in a JSON text that a double may be unable to represent exactly. Two different numbers of this
 * kind could be equal after parsing.
 */
function longNumbers(bytes: Buffer): string[] {
  const found: string[] = [];
  for (let at = 0; at < bytes.length;) {
    const quote = bytes.indexOf(QUOTE, at);
    const between = bytes.toString('latin1', at, quote < 0 ? bytes.length : quote);
    for (const [number] of between.matchAll(/\d[\d.eE+-]*/g))
      if (number.length > 15 || /e/i.test(number)) found.push(number);
    at = quote < 0 ? bytes.length : afterString(bytes, quote);
  }
  return found.sort();
}
