import { type Answer } from './partner-exchange.js';

const EXCERPT_BYTES = 2048;
const LINE_BREAKS = /[\t\r\n]+/g;
const UNREADABLE = /\p{Cc}|\p{Cs}/gu;

/**
 * The beginning of an answer as text for people: no control characters, nothing that is not UTF-8 and so PostgreSQL
 * would refuse, and none of `secrets`, which a partner may say back to us. That of a redirect begins with its `Location`.
 */
export function excerptOf({ status, body, encoded, location }: Answer, secrets: string[]): string | null {
  if (body.length === 0 && location === null) return null;
  const longest = Math.max(0, ...secrets.map((secret) => secret.length));
  const said = encoded ? '' : body.toString('utf8', 0, EXCERPT_BYTES + 4 * longest);
  const leads = status >= 300 && status < 400 && location !== null ? `Location: ${location}\n` : '';
  let text = leads + said;
  // Masked before the cut and by equal length, so that no secret is cut in two and shows its first half.
  for (const secret of secrets) text = text.replaceAll(secret, '*'.repeat(Buffer.byteLength(secret)));
  const readable = text.replace(LINE_BREAKS, ' ').replace(UNREADABLE, '');
  return cutToBytes(readable, EXCERPT_BYTES).trim() || null;
}

function cutToBytes(text: string, bytes: number): string {
  const encoded = Buffer.from(text, 'utf8');
  if (encoded.length <= bytes) return text;
  let end = bytes;
  // Back to the first byte of a character.
  while ((encoded[end] & 0xc0) === 0x80) end -= 1;
  return encoded.toString('utf8', 0, end);
}
