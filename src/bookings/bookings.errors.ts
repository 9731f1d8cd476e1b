import { defineProblem } from '../platform/errors.js';

export const bookingNotFound = defineProblem(
  'booking_not_found',
  'not_found',
  'No such booking',
  'The account has no booking with this code.',
);
export const changeCutoffPassed = defineProblem(
  'change_cutoff_passed',
  'forbidden',
  'It is too late to change the booking',
  'The test allows clients no change so shortly before the start. Ask the staff of the service.',
);
export const bookingClosed = defineProblem(
  'booking_closed',
  'forbidden',
  'The booking is closed',
  'It was cancelled, taken or missed, and no longer changes.',
);
