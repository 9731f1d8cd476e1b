import { defineProblem } from '../platform/errors.js';

export const bookingNotFound = defineProblem(
  'booking_not_found',
  'not_found',
  'The booking does not exist',
  'The account has no booking with this code.',
);
export const changeCutoffPassed = defineProblem(
  'change_cutoff_passed',
  'forbidden',
  'The deadline for changing the booking has passed',
  'Clients cannot change a booking of this test so shortly before its start. Ask the operator of the service to change the booking.',
);
export const bookingClosed = defineProblem(
  'booking_closed',
  'forbidden',
  'The booking is closed',
  'The exam was cancelled, taken or missed. The booking can no longer be changed.',
);
