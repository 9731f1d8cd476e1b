import { defineProblem } from '../platform/errors.js';

export const candidateHasOpenBooking = defineProblem(
  'candidate_has_open_booking',
  'conflict',
  'The candidate has an open booking',
  'The data of a candidate with a SCHEDULED eligibility cannot be erased. Cancel the booking first, or wait until the exam is over.',
);
