import { defineProblem, KEPT_RESULT } from '../platform/errors.js';

export const registrationMismatch = defineProblem(
  'registration_mismatch',
  'invalid',
  'Exam code and record locator name different registrations',
  'The two lead to different registrations, or the registration has another record locator already. An operator will look at the result.',
  KEPT_RESULT,
);
export const registrationAmbiguous = defineProblem(
  'registration_ambiguous',
  'invalid',
  'More than one registration fits',
  'The names and codes of the result fit more than one registration. An operator will look at the result.',
  KEPT_RESULT,
);
export const registrationNotFound = defineProblem(
  'registration_not_found',
  'invalid',
  'No registration fits',
  'No registration of the caller’s accounts has this exam code, record locator, or test and e-mail address. An operator will look at the result.',
  KEPT_RESULT,
);
export const resultIdConflict = defineProblem(
  'result_id_conflict',
  'invalid',
  'The result_id belongs to another candidate',
  'The account has a result with this result_id for another candidate. An operator will look at the result.',
  KEPT_RESULT,
);
export const candidateExamNotFound = defineProblem(
  'candidate_exam_not_found',
  'invalid',
  'No exam fits',
  'The account has no exam of this candidate that waits for a result. An operator will look at the result.',
  KEPT_RESULT,
);
export const candidateExamAmbiguous = defineProblem(
  'candidate_exam_ambiguous',
  'invalid',
  'More than one exam fits',
  'The result fits more than one exam of the candidate. An operator will look at the result.',
  KEPT_RESULT,
);
export const resultQuotaExceeded = defineProblem(
  'result_quota_exceeded',
  'rate_limited',
  'Too many bytes of results today',
  'The account has used up the bytes of results that it may store in a day. `Retry-After` says when the next day begins (UTC); send it again then.',
);
export const unmatchedResultNotFound = defineProblem(
  'unmatched_result_not_found',
  'not_found',
  'No such unmatched result',
  'There is no unmatched result with this id; they are kept for 30 days.',
);
export const unmatchedResultAccepted = defineProblem(
  'unmatched_result_accepted',
  'conflict',
  'The result was accepted already',
  'An operator has accepted the result for an exam.',
);
export const unmatchedResultSettled = defineProblem(
  'unmatched_result_settled',
  'conflict',
  'The result has found its exam',
  'The same body came from the same user again and was matched to an exam. It cannot be accepted for another one.',
);
