/** The ids and names that identify a candidate when they occur in a text. */
export interface PersonNames {
  /** The person's ids, addresses and numbers, which nobody else has. */
  readonly ids: readonly string[];
  /** The first, middle and last name in each of the candidate's records. */
  readonly names: readonly (readonly string[])[];
}

/**
 * The minimum lengths, in characters, of ids and names for the search in texts. A shorter id is matched only as a whole
 * word, because its characters also occur inside other words. A shorter name alone does not identify a person.
 */
const LEAST_OF_AN_ID = 5;
const LEAST_OF_A_NAME = 3;

/**
 * Reduces a text to lower-case letters and digits, so that ids match if they differ only in spaces, case or
 * punctuation.
 */
export function folded(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, '');
}

/** Returns the words of a text as one string, with a space before and after each word. */
function words(text: string): string {
  return ` ${text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
    .trim()} `;
}

/**
 * Returns whether a text identifies the person: by one of the person's ids (regardless of case, spaces and
 * punctuation), or by any of the person's names as a whole word. A name of one or two letters does not count.
 */
export function namesPerson(text: string, { ids, names }: PersonNames): boolean {
  const written = words(text);
  const letters = folded(text);
  const isIn = (value: string) => words(value).trim() !== '' && written.includes(words(value));
  const isId = (id: string) =>
    isIn(id) || (folded(id).length < LEAST_OF_AN_ID ? isIn(folded(id)) : letters.includes(folded(id)));
  if (ids.some(isId)) return true;
  return names.some((parts) => parts.some((part) => folded(part).length >= LEAST_OF_A_NAME && isIn(part)));
}

/**
 * Returns whether one text, or several texts together, contain a full name of the person. The result is also true if
 * the text means another person with the same name.
 */
export function hasFullName(texts: readonly string[], { names }: PersonNames): boolean {
  const all = texts.map(folded);
  const whole = new Set(all);
  return names.some((parts) => {
    const [first, , last] = parts.map(folded);
    if (first === '' || last === '') return false;
    if (whole.has(first) && whole.has(last)) return true;
    const full = [parts, [parts[0], parts[2]], [parts[2], parts[0]], [parts[2], parts[0], parts[1]]];
    return full.map((some) => folded(some.join(''))).some((name) => all.some((text) => text.includes(name)));
  });
}
