import type { Answer } from './answer-reader.js';

const EXCERPT_BYTES = 2048;
const LINE_BREAKS = /[\t\r\n]+/g;
const UNREADABLE = /\p{Cc}|\p{Cs}/gu;
/** The length of the longest encoded spelling of one character, such as `&#x00041;`. */
const LONGEST_SPELLING = 10;

/**
 * Returns the beginning of a response as text for people. The text has no control characters and no invalid UTF-8,
 * which PostgreSQL would refuse. The `secrets` are masked, because a partner may echo them. For a redirect, the text
 * begins with the `Location` header.
 */
export function excerptOf(
  { status, body, coding, location }: Pick<Answer, 'status' | 'body' | 'coding' | 'location'>,
  secrets: string[],
): string | null {
  if (body.length === 0 && location === null) return null;
  const said = coding !== null ? '' : beginningOf(body, secrets);
  const leads = status >= 300 && status < 400 && location !== null ? `Location: ${location}\n` : '';
  return readable(leads + said, secrets, () => '');
}

/**
 * Returns the beginning of a response that is not HTTP as text, with the `secrets` masked. A byte that is not text
 * appears as an escape such as `\x15`.
 */
export function firstBytes(said: Buffer, secrets: string[]): string | null {
  return readable(beginningOf(said, secrets), secrets, (character) => {
    return [...Buffer.from(character)].map((byte) => `\\x${byte.toString(16).padStart(2, '0')}`).join('');
  });
}

function beginningOf(bytes: Buffer, secrets: string[]): string {
  const longest = Math.max(0, ...secrets.map((secret) => secret.length));
  return bytes.toString('utf8', 0, EXCERPT_BYTES + LONGEST_SPELLING * longest);
}

function readable(said: string, secrets: string[], unreadable: (character: string) => string): string | null {
  let text = said;
  // Secrets are masked before the text is truncated, because a secret that was cut off in the middle would not be
  // recognized. A mask has the same length as the secret.
  for (const secret of secrets) text = text.replaceAll(secret, '*'.repeat(Buffer.byteLength(secret)));
  text = withoutSpelled(text, secrets).replace(LINE_BREAKS, ' ');
  return cutToBytes(text.replace(UNREADABLE, unreadable), EXCERPT_BYTES).trim() || null;
}

/** Matches one character in an encoded spelling: in HTML, percent-encoded, or escaped as in JSON and JavaScript. */
const SPELLED = new RegExp(
  [
    '&#(?<decimal>[0-9]{1,7});',
    '&#[xX](?<hex>[0-9a-fA-F]{1,6});',
    '&(?<name>amp|lt|gt|quot|apos|sol|colon|equals|plus|nbsp);',
    '(?<percent>(?:%[0-9a-fA-F]{2})+)',
    '\\\\u(?<unicode>[0-9a-fA-F]{4})',
    '\\\\x(?<byte>[0-9a-fA-F]{2})',
    '\\\\(?<escaped>["\'\\\\/])',
  ].join('|'),
  'g',
);
const NAMED: Record<string, string> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  sol: '/',
  colon: ':',
  equals: '=',
  plus: '+',
  nbsp: '\u{a0}',
};

/**
 * Masks the secrets in which single characters are encoded as in {@link SPELLED}. The masks have the length of the
 * masked text.
 */
function withoutSpelled(text: string, secrets: string[]): string {
  if (secrets.length === 0) return text;
  // For each character of `plain`, the position of its spelling in `text`. The last element is the end of `text`.
  const starts: number[] = [];
  let plain = '';
  const take = (characters: string, at: number, each = 0) => {
    for (let index = 0; index < characters.length; index++) starts.push(at + index * each);
    plain += characters;
  };
  let last = 0;
  for (const match of text.matchAll(SPELLED)) {
    take(text.slice(last, match.index), last, 1);
    take(characterOf(match.groups!), match.index);
    last = match.index + match[0].length;
  }
  if (last === 0) return text;
  take(text.slice(last), last, 1);
  starts.push(text.length);
  let masked = text;
  for (const secret of secrets)
    for (let at = plain.indexOf(secret); at !== -1; at = plain.indexOf(secret, at + secret.length)) {
      const [from, to] = [starts[at], starts[at + secret.length]];
      masked = masked.slice(0, from) + '*'.repeat(to - from) + masked.slice(to);
    }
  return masked;
}

function characterOf({ decimal, hex, name, percent, unicode, byte, escaped }: Record<string, string>): string {
  if (percent !== undefined) return Buffer.from(percent.replaceAll('%', ''), 'hex').toString('utf8');
  if (name !== undefined) return NAMED[name];
  if (escaped !== undefined) return escaped;
  const code = decimal === undefined ? Number.parseInt(hex ?? unicode ?? byte, 16) : Number(decimal);
  return code <= 0x10ffff ? String.fromCodePoint(code) : '\u{fffd}';
}

function cutToBytes(text: string, bytes: number): string {
  const encoded = Buffer.from(text, 'utf8');
  if (encoded.length <= bytes) return text;
  let end = bytes;
  // The end of the excerpt moves back to the first byte of a UTF-8 character.
  while ((encoded[end] & 0xc0) === 0x80) end -= 1;
  return encoded.toString('utf8', 0, end);
}
