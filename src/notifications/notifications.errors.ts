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
  url_port: ['The address has the port 0, on which nothing can listen.', 'Use the port of the endpoint.'],
  url_host: [
    'The host of the address cannot exist: a part of its name is empty or longer than 63 characters, or it is longer than 253.',
    'Use the name of the endpoint.',
  ],
  address_blocked: [
    'The address is not public, and partners may not live there.',
    'Use a public address, or have its network added to PARTNER_ALLOWED_NETWORKS.',
  ],
  address_repeated: [
    'Another subscription of the account has the same address.',
    'Delete one of the two, unless they ask for different kinds of event. It is a warning; nothing is refused.',
  ],
  certificate_invalid: ['The text holds no certificate that can be read.', 'Send certificates as PEM.'],
  certificate_expired: ['The client certificate has expired.', 'Send one that is valid, with its key.'],
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
export const authRequired = defineProblem(
  'auth_required',
  'invalid',
  'The credentials must come with the new host',
  'Credentials are never sent to a host that they were not given for. Send `auth`, and a client certificate with its key where one ' +
    'is set, in the same request as the `partner_url` on another host; null takes them away.',
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
