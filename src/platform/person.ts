/** Words that can show that a text is about a candidate. */
export interface PersonNames {
  /** Ids, addresses and numbers that belong to this person alone. */
  readonly ids: readonly string[];
  /** The first, middle and last name of each record. */
  readonly names: readonly (readonly string[])[];
}

/** A shorter id is matched only as whole words: without blanks it would occur in many other texts. */
const LEAST_OF_AN_ID = 5;
const LEAST_OF_A_NAME = 3;

/** Reduces a text to lower-case letters and digits: ids that differ by blanks, case or punctuation become equal. */
export function folded(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, '');
}

/** Returns the words of a text, each surrounded by blanks. */
function words(text: string): string {
  return ` ${text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
    .trim()} `;
}

/**
 * Returns whether a text names the person: by an id, however it is spaced, or by any of the names as a word. A name of
 * one or two letters alone does not count.
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

/** Returns whether one or several of the texts together contain a full name of the person. Namesakes match too. */
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
