import { defineProblem } from '../platform/errors.js';

export const candidateHasOpenBooking = defineProblem(
  'candidate_has_open_booking',
  'conflict',
  'The candidate has an open booking',
  'A candidate with a record that is SCHEDULED cannot be erased: cancel the booking first, or wait for the exam.',
);
