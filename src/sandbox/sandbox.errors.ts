import { formatDateTime } from '../platform/clock.js';
import { declareFaults, defineProblem, type Fault } from '../platform/errors.js';

declareFaults({
  clock_backwards: [
    'The clock of the sandbox can only be moved forward.',
    'Send a later time. `GET /sandbox/clock` shows the current time of the sandbox.',
  ],
  clock_too_far: ['The clock of the sandbox cannot be moved beyond the end of the year 8999.', 'Send an earlier time.'],
  clock_move_unclear: [
    'The request must contain either `advance_s` or `now`, but not both.',
    'Send exactly one of the two members.',
  ],
});

export const clockBackwards = (now: Date): Fault => ({
  pointer: '/now',
  code: 'clock_backwards',
  detail: `The clock can only be moved forward; it shows ${formatDateTime(now)}.`,
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
  'The event is not possible for this booking',
  'The current status of the booking does not allow this event. A booking can be created only once, and a closed booking can no longer be changed.',
);
