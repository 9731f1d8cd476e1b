import { characterFault, fault, integer, text, type Rule } from '../../platform/validation/rules.js';

/**
 * Rules for values that test drivers send with a JSON type that differs from the documented type. The values are
 * accepted and stored as received.
 */

/** Returns a rule for a member of a result. The rule accepts a string or a number. */
export function spelledText(options: { max: number; lines?: boolean }): Rule {
  const rule = text(options);
  return { schema: rule.schema, faults: (value) => (typeof value === 'number' ? [] : rule.faults(value)) };
}

/**
 * Returns a rule for the id of a record. The rule accepts a string, or a number that can be written in only one way.
 */
export function spelledId(max: number): Rule {
  const rule = text({ max });
  return { schema: rule.schema, faults: (value) => (textOfNumber(value) === null ? rule.faults(value) : []) };
}

/** Returns a rule that accepts an integer, either as a number or as a string. */
export function spelledInteger(min: number, max: number): Rule {
  const rule = integer(min, max);
  const read = (value: unknown) =>
    typeof value === 'string' && /^\s*[+-]?\d+(\.\d*)?([eE][+-]?\d+)?\s*$/.test(value) ? Number(value) : value;
  return { schema: rule.schema, faults: (value) => rule.faults(read(value)) };
}

/** Returns the value of a member as the id of a record; null if the member is empty or cannot be an id. */
export function idIn(value: unknown, max: number): string | null {
  if (typeof value === 'number') return textOfNumber(value);
  if (typeof value !== 'string' || value === '' || value.length > 2 * max) return null;
  return characterFault(value, true) === null ? value : null;
}

/** The maximum number of digits in a number that identifies a record. JSON.parse may change a longer number. */
const MOST_DIGITS = 15;

function textOfNumber(value: unknown): string | null {
  if (typeof value !== 'number') return null;
  const written = String(value);
  return Number.isFinite(value) && !written.includes('e') && written.replace(/\D/g, '').length <= MOST_DIGITS
    ? written
    : null;
}

/**
 * Returns a rule that accepts Base64 or base64url, in one or several lines (RFC 2045), or a `data:` URL of either. The
 * empty string is allowed.
 * @param maxBytes the maximum size of the decoded photo
 * @param maxLetters the maximum length of the string; the size limit of the body enforces this maximum
 */
export function photo(maxBytes: number, maxLetters: number): Rule {
  return {
    schema: { ...text({ max: maxLetters, lines: true }).schema, contentEncoding: 'base64' },
    faults(value) {
      if (typeof value !== 'string') return [fault('type_invalid', 'Must be a string.')];
      const letters = lettersOf(value);
      if (letters === null || !isBase64(letters)) return [fault('base64_invalid', 'Must be base64.')];
      return Buffer.byteLength(letters, 'base64') > maxBytes
        ? [fault('too_long', `Must decode to at most ${maxBytes} bytes.`)]
        : [];
    },
  };
}

const MOST_PREFIX = 200;

/** Returns the Base64 characters without the prefix and the line breaks; null if the prefix is invalid. */
function lettersOf(value: string): string | null {
  let letters = value;
  if (/^\s*data:/i.test(value.slice(0, MOST_PREFIX))) {
    const prefix = /^\s*data:[^,]*;base64,/i.exec(value.slice(0, MOST_PREFIX));
    if (prefix === null) return null;
    letters = value.slice(prefix[0].length);
  }
  return /[ \t\r\n]/.test(letters) ? letters.replaceAll(/[ \t\r\n]+/g, '') : letters;
}

/**
 * Returns whether the string is Base64. The regular expressions have no groups, because groups would overflow the stack
 * of the regular-expression engine on a string of several megabytes.
 */
function isBase64(letters: string): boolean {
  const padding = letters.endsWith('==') ? 2 : letters.endsWith('=') ? 1 : 0;
  const inner = padding === 0 ? letters : letters.slice(0, -padding);
  if (padding === 0 ? inner.length % 4 === 1 : letters.length % 4 !== 0) return false;
  return !/[^A-Za-z0-9+/]/.test(inner) || !/[^A-Za-z0-9_-]/.test(inner);
}
