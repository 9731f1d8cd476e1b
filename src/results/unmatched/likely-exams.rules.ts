/** The ways in which an exam can resemble an unmatched result, strongest first. */
export const LIKENESSES = [
  'SVC_ELIGIBLITY_ID',
  'BOOKING_CODE',
  'CLIENT_ELIGIBILITY_ID',
  'RECORD_LOCATOR',
  'CANDIDATE_ID',
  'ID_SPELLING',
  'EMAIL',
  'ID_ONE_CHARACTER',
  'NAME',
  'TEST',
  'LAST_NAME',
] as const;
export type Likeness = (typeof LIKENESSES)[number];

export interface LikelyExam {
  readonly because: ReadonlySet<Likeness>;
  readonly bookingOn: Date | null;
}

/**
 * Returns a score for an exam's similarities to an unmatched result. Each similarity scores more than all weaker
 * similarities together.
 */
function weightOf({ because }: LikelyExam): number {
  return [...because].reduce((sum, likeness) => sum + 2 ** (LIKENESSES.length - LIKENESSES.indexOf(likeness)), 0);
}

/**
 * Sorts the exams to which an unmatched result may belong by likelihood. Among equally likely exams, the exam whose
 * booking is nearest to the arrival of the result comes first.
 */
export function mostLikely<Exam extends LikelyExam>(exams: readonly Exam[], received: Date, most: number): Exam[] {
  const away = ({ bookingOn }: LikelyExam) =>
    bookingOn === null ? Number.MAX_SAFE_INTEGER : Math.abs(bookingOn.getTime() - received.getTime());
  return [...exams].sort((left, right) => weightOf(right) - weightOf(left) || away(left) - away(right)).slice(0, most);
}

/**
 * The similarities in which an id of the exam equals an id in the result. They make the similarities based on inexact
 * ids irrelevant.
 */
const EQUAL_IDS: readonly Likeness[] = [
  'SVC_ELIGIBLITY_ID',
  'BOOKING_CODE',
  'CLIENT_ELIGIBILITY_ID',
  'RECORD_LOCATOR',
  'CANDIDATE_ID',
];

/** Removes the similarities based on inexact ids, if a stronger similarity based on ids exists. */
export function withoutWeakerIds(likenesses: ReadonlySet<Likeness>): Set<Likeness> {
  const isEqual = EQUAL_IDS.some((likeness) => likenesses.has(likeness));
  const isSpelled = isEqual || likenesses.has('ID_SPELLING');
  return new Set(
    [...likenesses].filter(
      (likeness) => !(likeness === 'ID_SPELLING' && isEqual) && !(likeness === 'ID_ONE_CHARACTER' && isSpelled),
    ),
  );
}

/**
 * The minimum length and the maximum length of an id for which similar spellings are searched. Shorter ids resemble too
 * many other ids, and longer ids have too many variants.
 */
const LEAST_CHARACTERS = 4;
const MOST_CHARACTERS = 32;
const CHARACTERS = [...'abcdefghijklmnopqrstuvwxyz0123456789'];

/**
 * Normalizes an id. Converts it to lower case and removes spaces and punctuation, because people and programs often
 * change the case, the spaces and the punctuation. The SQL function `plain_id` does the same.
 */
export function plainId(id: string): string {
  return id.toLowerCase().replaceAll(/[\u0000-/:-@[-`{-\u007f]/g, '');
}

/**
 * Returns all ids that differ from the given id by one edit. In an edit, a character is removed, added, replaced, or
 * swapped with the next character.
 */
export function oneCharacterFrom(plain: string): string[] {
  const characters = [...plain];
  if (characters.length < LEAST_CHARACTERS || characters.length > MOST_CHARACTERS) return [];
  const found = new Set<string>();
  for (let at = 0; at <= characters.length; at++) {
    const [before, here, after] = [characters.slice(0, at), characters.slice(at, at + 1), characters.slice(at + 1)];
    for (const other of CHARACTERS) {
      found.add([...before, other, ...here, ...after].join(''));
      if (here.length > 0) found.add([...before, other, ...after].join(''));
    }
    found.add([...before, ...after].join(''));
    if (after.length > 0) found.add([...before, after[0], ...here, ...after.slice(1)].join(''));
  }
  found.delete(plain);
  return [...found];
}
