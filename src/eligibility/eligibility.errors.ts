import { declareFaults, defineProblem } from '../platform/errors.js';

export const duplicateEligibility = defineProblem(
  'duplicate_eligibility',
  'invalid',
  'An eligibility exists already',
  'The account already has a PENDING, ELIGIBLE or SCHEDULED eligibility for this candidate and test. The member svc_eligiblity_id names that eligibility.',
  ['svc_eligiblity_id'],
);
export const clientEligibilityIdInUse = defineProblem(
  'client_eligibility_id_in_use',
  'invalid',
  'The client_eligibility_id is in use',
  'Another eligibility of the account has this client_eligibility_id and is not cancelled. The member svc_eligiblity_id names that eligibility.',
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
  'Cancel the booking first. The member booking_code names the booking.',
  ['booking_code'],
);
export const recordDiffers = defineProblem(
  'record_differs',
  'conflict',
  'The line of the import names another eligibility',
  'The ids in the line of the import do not belong to the eligibility that this candidate currently has for this test. If the candidate has an eligibility for the test, the member svc_eligiblity_id names that eligibility.',
  ['svc_eligiblity_id'],
);
export const notEligibleToSchedule = defineProblem(
  'not_eligible_to_schedule',
  'forbidden',
  'The exam cannot be booked',
  'The eligibility does not allow a booking now, or does not allow the requested time. If the eligibility has an open booking already, the member booking_code names that booking.',
  ['booking_code'],
);
export const bookingOverlaps = defineProblem(
  'booking_overlaps',
  'forbidden',
  'The candidate has another booking at that time',
  'The member booking_code names the other booking. Choose another time, or send allow_overlap: true to book both.',
  ['booking_code'],
);
export const retakeNotAllowed = defineProblem(
  'retake_not_allowed',
  'forbidden',
  'The candidate cannot take the test again yet',
  'The retake policy of the test does not allow another attempt at this time. The member allowed_from states the earliest time. It is null if the candidate has used all attempts.',
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
    'Check the upper and lower case of the code, or ask the operator of the service for the list of test codes.',
  ],
  school_code_unknown: [
    'The account has no school with this code.',
    'Use a code that the account has, or ask the operator of the service to add the school first.',
  ],
  accommodation_unknown: [
    'The account has no accommodation with this code.',
    'Use a code that the account has, or ask the operator of the service to add the accommodation first.',
  ],
  attribute_key_unknown: [
    'The account has no attribute key with this name.',
    'Use a key that the account has, or ask the operator of the service to add the key first.',
  ],
  attribute_key_repeated: ['The list of attributes contains the same key twice.', 'Send each attribute key once.'],
  portion_unknown: ['The test has no portion with this code.', 'Use one of the portion codes of the test.'],
  portion_required: [
    'The test has several portions, and the request names none of them.',
    'Name at least one portion of the test.',
  ],
  province_state_invalid: [
    'The value is not a USPS state code.',
    'Use the two-letter USPS code for an address in the United States.',
  ],
});
