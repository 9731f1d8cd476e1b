import { defineProblem } from '../platform/errors.js';

export const launchNotAvailable = defineProblem(
  'launch_not_available',
  'forbidden',
  'The test cannot be launched',
  'The eligibility must be ELIGIBLE or SCHEDULED and not on hold, its scheduling window must be open, and the test must have a launch URL. Some tests cannot be launched earlier than a certain number of minutes before the booked start. In this case, the member available_from states the earliest time.',
  ['available_from'],
);
export const launchGone = defineProblem(
  'launch_gone',
  'gone',
  'The launch URL is no longer valid',
  'A launch URL can be opened only once, and only within 300 seconds of its creation. Request a new launch URL.',
);
