import { formatDateTime } from '../platform/clock.js';
import { declareFaults, defineProblem, type Fault } from '../platform/errors.js';

declareFaults({
  clock_backwards: [
    'The sandbox’s clock only goes forward.',
    'Name a later moment; `GET /sandbox/clock` tells the time.',
  ],
  clock_too_far: ['The sandbox’s clock ends with the year 8999.', 'Name an earlier moment.'],
  clock_move_unclear: ['It is not clear how the clock is to be moved.', 'Send `advance_s` or `now`, one of the two.'],
});

export const clockBackwards = (now: Date): Fault => ({
  pointer: '/now',
  code: 'clock_backwards',
  detail: `The clock only goes forward; it is ${formatDateTime(now)}.`,
});
export const clockTooFar = (pointer: string): Fault => ({
  pointer,
  code: 'clock_too_far',
  detail: 'The clock ends with the year 8999.',
});
export const clockMoveUnclear: Fault = {
  pointer: '',
  code: 'clock_move_unclear',
  detail: 'Send `advance_s` or `now`, one of the two.',
};

export const eventNotPossible = defineProblem(
  'event_not_possible',
  'conflict',
  'The booking is in no state for this event',
  'No transition of the booking raises it: a booking is created once, and one that is closed no longer changes.',
);
