import { declareFaults, defineProblem } from '../platform/errors.js';

export const duplicateEligibility = defineProblem(
  'duplicate_eligibility',
  'invalid',
  'An eligibility already exists',
  'The account already has a PENDING, ELIGIBLE or SCHEDULED eligibility for this candidate and test. The member svc_eligiblity_id identifies that eligibility.',
  ['svc_eligiblity_id'],
);
export const clientEligibilityIdInUse = defineProblem(
  'client_eligibility_id_in_use',
  'invalid',
  'The client_eligibility_id is in use',
  'Another eligibility of the account has this client_eligibility_id and is not cancelled. The member svc_eligiblity_id identifies that eligibility.',
  ['svc_eligiblity_id'],
);
export const candidateNotFound = defineProblem(
  'candidate_not_found',
  'not_found',
  'The candidate does not exist',
  'The account has never had an eligibility for this candidate.',
);
export const eligibilityNotFound = defineProblem(
  'eligibility_not_found',
  'not_found',
  'The eligibility does not exist',
  'The specified candidate eligibility was not found.',
);
export const eligibilityClosed = defineProblem(
  'eligibility_closed',
  'forbidden',
  'The eligibility is closed',
  'The exam was taken or missed. The eligibility can no longer be changed.',
);
export const eligibilityBooked = defineProblem(
  'eligibility_booked',
  'forbidden',
  'The eligibility has a booking',
  'Cancel the booking first. The member booking_code identifies the booking.',
  ['booking_code'],
);
export const recordDiffers = defineProblem(
  'record_differs',
  'conflict',
  'The line of the import identifies another eligibility',
  'The ids in this line of the import file do not belong to the current eligibility of the candidate for the test. If the candidate has a current eligibility for the test, the member svc_eligiblity_id identifies that eligibility.',
  ['svc_eligiblity_id'],
);
export const notEligibleToSchedule = defineProblem(
  'not_eligible_to_schedule',
  'forbidden',
  'The exam cannot be booked',
  'The eligibility does not allow a booking now, or does not allow the requested time. If the eligibility already has an open booking, the member booking_code identifies that booking.',
  ['booking_code'],
);
export const bookingOverlaps = defineProblem(
  'booking_overlaps',
  'forbidden',
  'The candidate has another booking at that time',
  'The member booking_code identifies the other booking. Choose another time, or send allow_overlap: true to book both.',
  ['booking_code'],
);
export const retakeNotAllowed = defineProblem(
  'retake_not_allowed',
  'forbidden',
  'The candidate cannot take the test again yet',
  'The retake policy of the test does not allow another attempt at this time. The member allowed_from states the earliest time of another attempt, or is null if the candidate has used all attempts.',
  ['allowed_from'],
);
export const invalidStatusFilter = defineProblem(
  'invalid_status_filter',
  'invalid',
  'The status filter is not valid',
  'Send the parameter `status` once, with the value active, inactive or all, or with the name of a status, in upper or lower case.',
);

declareFaults({
  test_unknown: [
    'The account has no test with this code.',
    'Check the spelling of the code, including upper and lower case, or ask the operator of the service for the list of test codes.',
  ],
  school_code_unknown: [
    'The account has no school with this code.',
    'Use a code that exists in the account, or ask the operator of the service to add the school.',
  ],
  accommodation_unknown: [
    'The account has no accommodation with this code.',
    'Use a code that exists in the account, or ask the operator of the service to add the accommodation.',
  ],
  attribute_key_unknown: [
    'The account has no attribute key with this name.',
    'Use a key that exists in the account, or ask the operator of the service to add the key.',
  ],
  attribute_key_repeated: ['The list of attributes contains the same key twice.', 'Send each attribute key once.'],
  portion_unknown: ['The test has no portion with this code.', 'Use a portion code of the test.'],
  portion_required: [
    'The test has several portions, but the request names none of them.',
    'Name at least one portion of the test.',
  ],
  province_state_invalid: [
    'The value is not a USPS state code.',
    'For an address in the United States, use the two-letter USPS code of the state.',
  ],
});
