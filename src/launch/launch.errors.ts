import { defineProblem } from '../platform/errors.js';

export const launchNotAvailable = defineProblem(
  'launch_not_available',
  'forbidden',
  'The test cannot be launched',
  'The eligibility must be ELIGIBLE or SCHEDULED and not on hold, its scheduling window must be open, and the test must have a launch URL. Some tests can be launched only from a certain time before the booked start. The member available_from then states that time.',
  ['available_from'],
);
export const launchGone = defineProblem(
  'launch_gone',
  'gone',
  'The launch URL is no longer valid',
  'A launch URL can be opened once, within 300 seconds. Request a new launch URL.',
);
