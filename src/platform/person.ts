/** Words that may show in a text that it is about a candidate. */
export interface PersonNames {
  /** Ids, addresses and numbers that are the person's alone. */
  readonly ids: readonly string[];
  /** Of each record: first, middle and last name. */
  readonly names: readonly (readonly string[])[];
}

/** An id that is shorter is looked for as words alone: without its blanks it would be found in many others. */
const LEAST_OF_AN_ID = 5;
const LEAST_OF_A_NAME = 3;

/** Letters and digits alone, in small letters: ids that differ by blanks, case or punctuation are equal. */
export function folded(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, '');
}

/** The words of a text, a blank around each. */
function words(text: string): string {
  return ` ${text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
    .trim()} `;
}

/**
 * Whether a text that somebody wrote names the person: by an id, however it is spaced, or by any of the names as a word.
 * A name of one or two letters says nothing by itself.
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

/** Whether one of several texts, or several of them together, has a full name of the person: namesakes have it too. */
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
