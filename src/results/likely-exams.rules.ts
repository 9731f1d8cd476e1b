/** How an exam resembles an unmatched result, the strongest first. */
export const LIKENESSES = [
  'SVC_ELIGIBLITY_ID',
  'BOOKING_CODE',
  'CLIENT_ELIGIBILITY_ID',
  'RECORD_LOCATOR',
  'CANDIDATE_ID',
  'EMAIL',
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
