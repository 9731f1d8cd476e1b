import { declareFaults, declareWarnings, defineProblem } from '../platform/errors.js';

declareFaults({
  change_reason_unknown: [
    'The value is not a known `change_reason`.',
    'Use one of the values that the API description lists for `change_reason`.',
  ],
  failure_unknown: [
    'The value is not a known class of failure.',
    'Use one of the values that the API description lists for `failure`.',
  ],
  retry_unknown: ['The value is not a known kind of retry.', 'Use AUTO or MANUAL.'],
  state_unknown: [
    'The value is not a known state of a notification, job or import.',
    'Use one of the values that the API description lists for `state`.',
  ],
  refusal_unknown: ['The value is not a known reason for a refusal.', 'Use NO_MATCHING_RECORD or OTHER.'],
  range_empty: ['The end of the range is not later than its beginning.', 'Send a `to` that is later than `from`.'],
  too_many_steps: ['The range has more steps than one response can contain.', 'Use longer steps or a shorter range.'],
  delivery_unknown: ['The value is not a known delivery method.', 'Use PUSH or POLL.'],
  suspender_unknown: ['The value is not a party that can suspend a subscription.', 'Use OPERATOR or PARTNER.'],
  exam_in_unknown: [
    'The value is not a period that the filter `exam_in` accepts.',
    'Use one of the values that the API description lists for `exam_in`.',
  ],
  order_unknown: ['The value is not an order in which the list can be sorted.', 'Use newest or oldest.'],
  health_unknown: ['The value is not a known health state of a partner.', 'Use UP or DOWN.'],
  trigger_unknown: [
    'The value is not a known trigger of a delivery attempt.',
    'Use one of the values that the API description lists for `trigger`.',
  ],
  outcome_unknown: [
    'The value is not a known outcome of a notification in a job, or of a row in an import.',
    'Use one of the values that the API description lists for `outcome`.',
  ],
  http_status_invalid: ['The value is not an HTTP status code.', 'Send a three-digit number.'],
  auto_retry_unknown: [
    'The value is not a kind of failure after which the service can retry automatically.',
    'Use one of the values that the API description lists for `auto_retry_on`.',
  ],
  auth_type_unknown: [
    'The value of `type` is not a known type of credentials.',
    'Use one of the values that the API description lists for `auth.type`.',
  ],
  client_auth_unknown: [
    'The value is not a known method of client authentication.',
    'Use basic, post or private_key_jwt.',
  ],
  header_reserved: [
    'The service sets this header itself, or the header describes the body or controls the connection or a cache.',
    'Remove this header. In `auth`, the header Authorization is allowed only with the types `none` and `headers`.',
  ],
  header_repeated: ['The list contains the same header twice.', 'Include each header only once in the list.'],
  url_scheme: ['The address does not begin with https.', 'Use an https address.'],
  url_userinfo: [
    'The address contains a user name or a password.',
    'Remove the user name and the password from the address, and send the credentials in `auth`.',
  ],
  url_query: ['The address contains a query (the part after ?).', 'Remove the query.'],
  url_fragment: ['The address contains a fragment (the part after #).', 'Remove the fragment.'],
  url_port: ['The port in the address is 0, which no server can use.', 'Send the port on which the endpoint listens.'],
  url_host: [
    'The host name of the address is not valid. A host name has at most 253 characters, and each of its parts has 1 to 63 characters.',
    'Check the host name of the endpoint for a typing error.',
  ],
  address_blocked: [
    'The address belongs to a private or reserved network, but the service sends requests only to public addresses.',
    'Use a public address, or ask the operator of the service to add the network of this address to PARTNER_ALLOWED_NETWORKS.',
  ],
  certificate_invalid: ['The text does not contain a readable certificate.', 'Send the certificate in PEM format.'],
  certificate_expired: [
    'The client certificate has expired.',
    'Send a valid client certificate together with its private key.',
  ],
  certificate_missing: [
    'The request has a private key, but no client certificate.',
    'Send the certificate in `client_cert_pem` together with the key.',
  ],
  key_invalid: [
    'The text does not contain a readable private key.',
    'Send the private key in PEM format, without a passphrase.',
  ],
  key_missing: [
    'The request has a client certificate, but no private key.',
    'Send the private key in `client_key_pem` together with the certificate.',
  ],
  key_mismatch: ['The private key does not belong to the certificate.', 'Send the private key of this certificate.'],
});
declareWarnings({
  address_repeated: [
    'Another subscription of the account has the same address.',
    'Delete one of the two subscriptions, unless they receive different kinds of events.',
  ],
});

export const subscriptionSuspended = defineProblem(
  'subscription_suspended',
  'conflict',
  'The subscription is suspended',
  'The service sends nothing to the partner of a suspended subscription. Resume the subscription first.',
);
export const suspendedByOperator = defineProblem(
  'suspended_by_operator',
  'forbidden',
  'An operator suspended the subscription',
  'Only an operator of the service can resume a subscription that an operator suspended. Ask an operator to resume the subscription.',
);
export const subscriptionUnverified = defineProblem(
  'subscription_unverified',
  'conflict',
  'The subscription is not verified',
  'The partner has not yet answered a sample notification with status 200. Verify the subscription first.',
);
export const subscriptionPolled = defineProblem(
  'subscription_polled',
  'conflict',
  'The partner polls and has no address',
  'The partner of this subscription fetches its notifications and has no address to which a sample could be sent. The subscription needs no verification. To send a sample, set `partner_url`.',
);
export const authRequired = defineProblem(
  'auth_required',
  'invalid',
  'The credentials for the new host are missing',
  'Credentials are sent only to the host for which they were provided. When you move `partner_url` to another host, send `auth` in the same request. If a client certificate is set, send a new certificate and its key as well. To remove the certificate and its key, send null for both.',
);
export const verificationFailed = defineProblem(
  'verification_failed',
  'invalid',
  'The partner did not accept the sample notification',
  'The partner did not answer the sample notification with status 200 in time. The members `failure`, `reason`, `http_status` and `excerpt` describe the failure.',
  ['failure', 'reason', 'http_status', 'excerpt'],
);
export const notInErrorQueue = defineProblem(
  'not_in_error_queue',
  'conflict',
  'The notification is not in the error queue',
  'The notification was delivered or resolved, or a delivery attempt is in progress.',
);
