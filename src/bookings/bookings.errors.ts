import { defineProblem } from '../platform/errors.js';

export const bookingNotFound = defineProblem(
  'booking_not_found',
  'not_found',
  'No such booking',
  'The account has no booking with this code.',
);
export const bookingClosed = defineProblem(
  'booking_closed',
  'forbidden',
  'The booking is closed',
  'It was cancelled, taken or missed, and no longer changes.',
);
