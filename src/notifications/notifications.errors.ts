import { defineProblem } from '../platform/errors.js';

export const subscriptionSuspended = defineProblem(
  'subscription_suspended',
  'conflict',
  'The subscription is suspended',
  'Nothing is sent to a suspended partner. Resume the subscription first.',
);
export const subscriptionUnverified = defineProblem(
  'subscription_unverified',
  'conflict',
  'The subscription is not verified',
  'The partner has not yet answered a sample with 200. Verify the subscription first.',
);
export const verificationFailed = defineProblem(
  'verification_failed',
  'invalid',
  'The partner did not accept the sample',
  'The sample was not answered with 200 in time. `failure`, `reason`, `http_status` and `excerpt` say what came instead.',
);
export const notInErrorQueue = defineProblem(
  'not_in_error_queue',
  'conflict',
  'The notification is not in the error queue',
  'It was delivered or resolved, or an attempt is under way.',
);
