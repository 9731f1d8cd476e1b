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
  'For this test, clients cannot change a booking so close to the start of the exam. Ask the operator of the service to change the booking.',
);
export const bookingClosed = defineProblem(
  'booking_closed',
  'forbidden',
  'The booking is closed',
  'The booking was cancelled, or the exam was taken or missed. The booking can no longer be changed.',
);
