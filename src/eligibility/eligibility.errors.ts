import { defineProblem } from '../platform/errors.js';

export const duplicateEligibility = defineProblem(
  'duplicate_eligibility',
  'invalid',
  'A live eligibility exists already',
  'The account has a live record for this candidate and test; its id is in svc_eligiblity_id.',
  ['svc_eligiblity_id'],
);
export const clientEligibilityIdInUse = defineProblem(
  'client_eligibility_id_in_use',
  'invalid',
  'The client_eligibility_id is in use',
  'Another record of the account that is not cancelled has this client_eligibility_id; it is named in svc_eligiblity_id.',
  ['svc_eligiblity_id'],
);
export const candidateNotFound = defineProblem(
  'candidate_not_found',
  'not_found',
  'No such candidate',
  'The account has never had an eligibility for this candidate.',
);
export const eligibilityNotFound = defineProblem(
  'eligibility_not_found',
  'not_found',
  'No such eligibility',
  'The specified candidate eligibility was not found.',
);
export const eligibilityClosed = defineProblem(
  'eligibility_closed',
  'forbidden',
  'The eligibility is closed',
  'The exam was taken or missed: the record no longer changes.',
);
export const eligibilityBooked = defineProblem(
  'eligibility_booked',
  'forbidden',
  'The eligibility is booked',
  'Cancel the booking first; it is named in booking_code.',
  ['booking_code'],
);
export const recordDiffers = defineProblem(
  'record_differs',
  'conflict',
  'The line means another record',
  'The record that the line names is not the one that a change of this candidate and test would meet.',
  ['svc_eligiblity_id'],
);
export const notEligibleToSchedule = defineProblem(
  'not_eligible_to_schedule',
  'forbidden',
  'The candidate cannot be scheduled',
  'The eligibility does not allow a booking now, or not at that time; an open booking is named in booking_code.',
  ['booking_code'],
);
export const bookingOverlaps = defineProblem(
  'booking_overlaps',
  'forbidden',
  'The candidate has another booking at that time',
  'The other booking is named in booking_code. Choose another time, or send allow_overlap: true.',
  ['booking_code'],
);
export const invalidStatusFilter = defineProblem(
  'invalid_status_filter',
  'invalid',
  'The status filter is not valid',
  'Give status once: active, inactive, all or one status value, in any case.',
);
