/** The ids and names that identify a candidate when they occur in a text. */
export interface PersonNames {
  /** The person's ids, addresses and numbers, which nobody else has. */
  readonly ids: readonly string[];
  /** The first, middle and last name in each of the candidate's records. */
  readonly names: readonly (readonly string[])[];
}

/**
 * The minimum lengths of the ids and names that are searched for in texts. A shorter id is only matched as a whole
 * word, because its characters occur in many other texts.
 */
const LEAST_OF_AN_ID = 5;
const LEAST_OF_A_NAME = 3;

/**
 * Reduces a text to lower-case letters and digits, so that ids that differ only in blanks, case or punctuation become
 * equal.
 */
export function folded(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, '');
}

/** Returns the words of a text as one text, with a blank before and after each word. */
function words(text: string): string {
  return ` ${text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
    .trim()} `;
}

/**
 * Returns whether a text identifies the person: by an id in any spacing, or by any of the names as a word. A name of
 * one or two letters does not count.
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
 * Returns whether one text, or several texts together, contain a full name of the person. The names of other people
 * with the same name match, too.
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
