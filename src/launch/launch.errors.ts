import { defineProblem } from '../platform/errors.js';

export const launchNotAvailable = defineProblem(
  'launch_not_available',
  'forbidden',
  'The test cannot be launched',
  'The eligibility must be ELIGIBLE or SCHEDULED within its window and not on hold, and the test must have a launch URL. A booked exam may be launched from the time in available_from on, where the test says so.',
  ['available_from'],
);
export const launchGone = defineProblem(
  'launch_gone',
  'gone',
  'The launch URL is used up',
  'A launch URL works once and for 300 seconds. Ask for a new one.',
);
