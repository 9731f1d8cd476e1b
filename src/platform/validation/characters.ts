// Characters that are forbidden in texts: the control characters C0, DEL and C1, except line breaks and tabs in free
// text. Direction overrides are forbidden because they disguise a text, and U+FFFD because it replaces a lost
// character.
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u202d\u202e\ufffd]/;
const CONTROL_BUT_LINES = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202d\u202e\ufffd]/;
/** Characters that are invisible on their own: spaces, joiners, marks, fillers and the empty Braille pattern. */
const UNSEEN = /[\s\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]+/gu;
const SURROGATE = /[\ud800-\udfff]/;

/** Returns whether the text contains a forbidden character. If `lines` is true, line breaks and tabs are allowed. */
export function hasControl(text: string, lines: boolean): boolean {
  return (lines ? CONTROL_BUT_LINES : CONTROL).test(text);
}

/**
 * Returns whether the text has no visible character. A text with a printable ASCII character other than a space is
 * visible.
 */
export function isUnseen(text: string): boolean {
  return !/[!-~]/.test(text) && text.replaceAll(UNSEEN, '') === '';
}

/** Returns the number of Unicode code points. PostgreSQL and JSON Schema count the length of a text in the same way. */
export function codePoints(text: string): number {
  if (!SURROGATE.test(text)) return text.length;
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/**
 * Returns the regular expression that the OpenAPI document shows for a text without a specific form. The expression
 * only uses escapes that every dialect interprets in the same way. The expression therefore cannot exclude the
 * characters beyond C1 that are forbidden or blank. \\S is not used, because its meaning differs between dialects.
 */
export function allowedCharacters({ min = 0, lines = false, notBlank = false }): string {
  const allowed = lines ? '[^\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f]' : '[^\\x00-\\x1f\\x7f-\\x9f]';
  const blank = lines ? '[\\x09\\x0a\\x0d \\xa0]' : '[ \\xa0]';
  if (notBlank) return `^${blank}*[^\\x00-\\x20\\x7f-\\xa0]${allowed}*$`;
  return `^${allowed}${min > 0 ? '+' : '*'}$`;
}
