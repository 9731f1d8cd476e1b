import type { LockedEligibility } from '../../eligibility/eligibility.commands.js';
import { isObject } from '../../platform/validation/fields.js';
import type { KeptBody } from './result-body.js';
import type { ResultSource } from './results.rules.js';

type Kept = { readonly [name: string]: true | Kept };

/**
 * The members of a body that an erasure keeps. They contain the scores and outcomes, the times and the kind of the
 * exam. Members that a test driver added are not kept.
 */
const KEPT: Record<ResultSource, Kept> = {
  REGISTRATION: {
    examDate: true,
    examProcessingStatus: true,
    keySetVersion: true,
    reviewStatus: true,
    examApiData: {
      duration: true,
      examName: true,
      examSponsor: true,
      organization: true,
      reviewedExam: true,
      extProduct: true,
      orgExtra: { examEndDate: true, examStartDate: true, noOfStudents: true },
    },
    examMetaData: {
      examName: true,
      examSponsor: true,
      organization: true,
      reviewedExam: true,
      simulatedExam: true,
      extProduct: true,
    },
  },
  ACCOUNT: {
    category_scores: { category_name: true, category_order: true, category_score_pct: true },
    category_total_count: true,
    overall_score_label: true,
    overall_score_pct: true,
    overall_score_scaled: true,
    result: true,
  },
};

/** Returns the JSON text of a body without personal data; the pseudonym replaces the candidate's id. */
export function erasedBody(source: ResultSource, text: string, pseudonym: string): string {
  const body = JSON.parse(text) as Record<string, unknown>;
  const left = keep(body, KEPT[source]) as Record<string, unknown>;
  return JSON.stringify('candidate_id' in body ? { candidate_id: pseudonym, ...left } : left);
}

/**
 * Returns the part of a body to store if the personal data of the candidate has been erased from the eligibility
 * record. Otherwise, returns null, which means that the whole body is stored. The hash of the whole body is kept, so
 * that the body is recognized if it is delivered again.
 */
export function keptOf(
  { erased_datetime, candidate_id }: LockedEligibility,
  source: ResultSource,
  { text, hash }: KeptBody,
): KeptBody | null {
  if (erased_datetime === null) return null;
  const erased = erasedBody(source, text.toString('utf8'), candidate_id);
  return { text: Buffer.from(erased), hash, photo: null, videoLink: null, credentials: null };
}

function keep(value: unknown, kept: Kept): unknown {
  if (Array.isArray(value)) return value.map((entry) => keep(entry, kept));
  if (!isObject(value)) return null;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => Object.hasOwn(kept, name))
      .map(([name, member]) => {
        const rule = kept[name];
        return [name, rule === true ? scalar(member) : keep(member, rule)];
      }),
  );
}

/**
 * Returns a scalar value unchanged, and null for an object or array. The members that an erasure keeps should be
 * scalars. If one of them is an object or array, it may contain personal data.
 */
function scalar(value: unknown): unknown {
  return typeof value === 'object' ? null : value;
}
