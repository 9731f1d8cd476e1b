import { declareFaults, defineProblem } from '../platform/errors.js';

declareFaults({
  change_reason_unknown: ['There is no such change_reason.', 'Use one of the six that the document names.'],
  failure_unknown: ['There is no such class of failure.', 'Use one of those that the document names.'],
  retry_unknown: ['There is no such way of retrying.', 'Use AUTO or MANUAL.'],
  state_unknown: ['There is no such state.', 'Use one of those that the document names.'],
  health_unknown: ['There is no such health.', 'Use UP or DOWN.'],
  trigger_unknown: ['There is no such trigger.', 'Use one of those that the document names.'],
  outcome_unknown: ['There is no such outcome.', 'Use one of those that the document names.'],
  http_status_invalid: ['The value is not a status of HTTP.', 'Send a number of three digits.'],
  auto_retry_unknown: ['Nothing like this can be retried automatically.', 'Use one of those that the document names.'],
  auth_type_unknown: ['There is no such kind of credentials.', 'Use one of the types that the document names.'],
  client_auth_unknown: ['There is no such way for a client to sign in.', 'Use basic, post or private_key_jwt.'],
  header_reserved: [
    'The service sets this header itself, or it steers the connection or a cache.',
    'Use the header that the partner asks for; Authorization is allowed in the types none and headers only.',
  ],
  header_repeated: ['The list has the header twice.', 'Send each header once.'],
  url_scheme: ['The address does not begin with https.', 'Use an https address.'],
  url_userinfo: ['The address holds a user name or a password.', 'Take them out; credentials go into auth.'],
  url_query: ['The address has a query.', 'Take it out.'],
  url_fragment: ['The address has a fragment.', 'Take it out.'],
  address_blocked: [
    'The address is not public, and partners may not live there.',
    'Use a public address, or have its network added to PARTNER_ALLOWED_NETWORKS.',
  ],
  certificate_invalid: ['The text holds no certificate that can be read.', 'Send certificates as PEM.'],
  certificate_missing: ['There is a key without its certificate.', 'Send client_cert_pem as well.'],
  key_invalid: ['The text holds no private key that can be read.', 'Send the key as PEM, without a passphrase.'],
  key_missing: ['There is a certificate without its key.', 'Send client_key_pem as well.'],
  key_mismatch: ['The key does not belong to the certificate.', 'Send the key of this certificate.'],
});

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
  ['failure', 'reason', 'http_status', 'excerpt'],
);
export const notInErrorQueue = defineProblem(
  'not_in_error_queue',
  'conflict',
  'The notification is not in the error queue',
  'It was delivered or resolved, or an attempt is under way.',
);
