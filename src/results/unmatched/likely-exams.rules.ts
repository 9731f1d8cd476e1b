/** How an exam resembles an unmatched result, the strongest first. */
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

/** Each likeness counts for more than all weaker ones together. */
function weightOf({ because }: LikelyExam): number {
  return [...because].reduce((sum, likeness) => sum + 2 ** (LIKENESSES.length - LIKENESSES.indexOf(likeness)), 0);
}

/** The likeliest first; of those that resemble it equally, the one whose booking is nearest to the result's arrival. */
export function mostLikely<Exam extends LikelyExam>(exams: readonly Exam[], received: Date, most: number): Exam[] {
  const away = ({ bookingOn }: LikelyExam) =>
    bookingOn === null ? Number.MAX_SAFE_INTEGER : Math.abs(bookingOn.getTime() - received.getTime());
  return [...exams].sort((left, right) => weightOf(right) - weightOf(left) || away(left) - away(right)).slice(0, most);
}

/** The likenesses of equal ids: beside one of them, another spelling of the id says nothing more. */
const EQUAL_IDS: readonly Likeness[] = [
  'SVC_ELIGIBLITY_ID',
  'BOOKING_CODE',
  'CLIENT_ELIGIBILITY_ID',
  'RECORD_LOCATOR',
  'CANDIDATE_ID',
];

/** Returns the likenesses without those of an id that is spelled otherwise, where it is found as it is too. */
export function withoutWeakerIds(likenesses: ReadonlySet<Likeness>): Set<Likeness> {
  const isEqual = EQUAL_IDS.some((likeness) => likenesses.has(likeness));
  const isSpelled = isEqual || likenesses.has('ID_SPELLING');
  return new Set(
    [...likenesses].filter(
      (likeness) => !(likeness === 'ID_SPELLING' && isEqual) && !(likeness === 'ID_ONE_CHARACTER' && isSpelled),
    ),
  );
}

/** Shorter ones have too many others within a character, and longer ones too many spellings. */
const LEAST_CHARACTERS = 4;
const MOST_CHARACTERS = 32;
const CHARACTERS = [...'abcdefghijklmnopqrstuvwxyz0123456789'];

/** Returns an id without what people and programs leave out, add or change: case, blanks and punctuation. As SQL's `plain_id`. */
export function plainId(id: string): string {
  return id.toLowerCase().replaceAll(/[\u0000-/:-@[-`{-\u007f]/g, '');
}

/** Returns what a plain id may be if one character is missing, is one too many, is another, or changed places with the next. */
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
