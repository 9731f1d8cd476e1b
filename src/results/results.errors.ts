import { defineProblem, KEPT_RESULT } from '../platform/errors.js';

export const registrationMismatch = defineProblem(
  'registration_mismatch',
  'invalid',
  'The exam code and the record locator belong to different registrations',
  'The exam code and the record locator belong to different registrations, or the registration already has another record locator. The service has kept the result, and an operator will review it.',
  KEPT_RESULT,
);
export const registrationAmbiguous = defineProblem(
  'registration_ambiguous',
  'invalid',
  'More than one registration matches the result',
  'The codes or the e-mail address in the result match more than one registration. The service has kept the result, and an operator will review it.',
  KEPT_RESULT,
);
export const registrationNotFound = defineProblem(
  'registration_not_found',
  'invalid',
  'No registration matches the result',
  'None of the accounts that the caller can access has a registration with this exam code, with this record locator, or with this test and e-mail address. The service has kept the result, and an operator will review it.',
  KEPT_RESULT,
);
export const resultIdConflict = defineProblem(
  'result_id_conflict',
  'invalid',
  'The result_id belongs to another candidate',
  'The account already has a result with this result_id, and that result belongs to another candidate. The service has kept the new result, and an operator will review it.',
  KEPT_RESULT,
);
export const candidateExamNotFound = defineProblem(
  'candidate_exam_not_found',
  'invalid',
  'No exam matches the result',
  'In this account, the candidate has no exam for which a result is expected. The service has kept the result, and an operator will review it.',
  KEPT_RESULT,
);
export const candidateExamAmbiguous = defineProblem(
  'candidate_exam_ambiguous',
  'invalid',
  'More than one exam matches the result',
  'The result matches several exams of the same candidate. The service has kept the result, and an operator will review it.',
  KEPT_RESULT,
);
export const resultQuotaExceeded = defineProblem(
  'result_quota_exceeded',
  'rate_limited',
  'The daily limit for results has been reached',
  'The results that the service stored today for the account or the sending application have reached the daily size limit. Send the result again on the next day (UTC). The Retry-After header states the number of seconds until then.',
);
export const resultNotFound = defineProblem(
  'result_not_found',
  'not_found',
  'The exam has no result',
  'No result has been accepted for this exam.',
);
export const unmatchedResultNotFound = defineProblem(
  'unmatched_result_not_found',
  'not_found',
  'The unmatched result does not exist',
  'No unmatched result has this id. Unmatched results are deleted after 30 days.',
);
export const unmatchedResultAccepted = defineProblem(
  'unmatched_result_accepted',
  'conflict',
  'The result was already accepted',
  'An operator has already accepted this result for an exam.',
);
export const unmatchedResultSettled = defineProblem(
  'unmatched_result_settled',
  'conflict',
  'The result was already matched to an exam',
  'The same user sent the same body more than once, and one of these results was already matched to an exam. Therefore, the result cannot be accepted for another exam.',
);
