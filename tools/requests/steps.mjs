// The operations of the document in an order in which a person would try them, so that each finds what it needs; what is not named
// here comes after them. A step is
// `METHOD path`, or [that, what differs]:
//   keep     variables out of the answer: a name of a member, or `0.id` for one of the first entry
//   body     in place of the document's example
//   also     statuses that are as good as success: what the operation works on may have ended meanwhile
//   waitMs   before it: something is done in the background
//   as       the token: `operator` or `client`; by default, what the scope asks for
const account = '/accounts/{account_code}';
const candidate = `${account}/candidates/{candidate_id}`;
const test = `${candidate}/tests/{test_code}`;
const booking = `${account}/bookings/{booking_code}`;
const admin = '/admin/accounts/{account_code}';
const subscription = '/admin/subscriptions/{id}';
const job = '/admin/jobs/{job_id}';
const resend = '/admin/error-queue/resends/{resend_id}';

const token = (who) => [
  'POST /token',
  {
    as: who,
    keep: { [`${who}_token`]: 'access_token', [`${who}_refresh_token`]: 'refresh_token' },
    body: { grant_type: 'password', username: `{{${who}_username}}`, password: `{{${who}_password}}` },
  },
];
const create = [
  `POST ${account}/candidates`,
  { keep: { svc_id: 'svc_eligiblity_id', svc_eligibility_code: 'svc_eligiblity_id' } },
];
const book = [`POST ${test}/bookings`, { keep: { booking_code: 'booking_code' } }];
const entry = (kind, code = 'code') => ['GET', 'DELETE', 'PUT'].map((method) => `${method} ${admin}/${kind}/{${code}}`);
const ended = { also: [409] };
const unknown = { also: [404] };

export const STEPS = {
  'A client’s day': [
    token('client'),
    create,
    `PUT ${test}`,
    `PUT ${test}/vouchers`,
    `GET ${test}/vouchers`,
    ...[`GET ${test}`, `GET ${candidate}`, `GET ${candidate}/eligibilities`, `GET ${account}/eligibilities`],
    ['GET /eligibilities/{svc_eligibility_code}/testLaunchInfo', { keep: { launch_url: 'launch_url' } }],
    'GET /launch/{launch_code}',
    book,
    ...[`GET ${booking}`, `GET ${candidate}/bookings`, `PUT ${booking}`],
    'POST /registrations/registration/results',
    `PUT ${account}`,
    `GET ${test}/results`,
    `GET ${account}/changes`,
    create,
    book,
    `POST ${booking}/absence`,
    `DELETE ${test}`,
    [`POST ${account}/eligibility-imports`, { keep: { import_id: 'import_id' } }],
    [`GET ${account}/eligibility-imports/{import_id}`, { waitMs: 3000 }],
    `GET ${account}/eligibility-imports/{import_id}/report`,
    [`POST ${account}/eligibility-imports/{import_id}/abort`, ended],
    `GET ${account}/eligibilities.csv`,
  ],
  'An operator’s day': [
    token('operator'),
    [
      'POST /admin/subscriptions',
      {
        keep: { subscription_id: 'id' },
        body: { account_code: '{{account_code}}', partner_url: '{{partner_url}}', ca_pem: '{{ca_pem}}' },
      },
    ],
    ...[
      `POST ${subscription}/verify`,
      'GET /admin/subscriptions',
      `GET ${subscription}`,
      `GET ${subscription}/statistics`,
    ],
    ...[`POST ${subscription}/suspend`, `POST ${subscription}/resume`, `POST ${subscription}/rotate-secret`],
    // From here on its certificate is not trusted: what it is sent ends in the error queue.
    [`PATCH ${subscription}`, { body: { ca_pem: null } }],
    create,
    ...['hold', 'release', 'approve-accommodations'].map((action) => `POST /admin/eligibilities/{svc_id}/${action}`),
    book,
    `PUT ${booking}`,
    ['GET /admin/error-queue', { keep: { notification_id: '0.id' }, waitMs: 3000 }],
    ...['GET /admin/error-queue/summary', 'GET /admin/notifications'],
    ['GET /admin/notifications/{id}', { names: { id: 'notification_id' } }],
    'POST /admin/error-queue/{notification_id}/resolve',
    ['GET /admin/error-queue', { keep: { notification_id: '0.id' } }],
    'POST /admin/error-queue/{notification_id}/resend',
    ['POST /admin/error-queue/resend', { keep: { job_id: 'job_id', resend_id: 'resend_id' } }],
    ...[`GET ${resend}`, 'GET /admin/error-queue/resends', `GET ${job}`, 'GET /admin/jobs', `GET ${job}/items`],
    ...[resend, job].flatMap((one) => ['pause', 'resume', 'abort'].map((action) => [`POST ${one}/${action}`, ended])),
    'POST /admin/error-queue/resolve',
    'POST /admin/notifications/replay',
    [
      'POST /registrations/registration/results',
      { body: { examMetaData: { examCode: 'NOBODY-KNOWS' } }, also: [400], as: 'client' },
    ],
    ['GET /admin/unmatched-results', { keep: { unmatched_id: '0.id' } }],
    ['GET /admin/unmatched-results/{id}', { names: { id: 'unmatched_id' } }],
    ['POST /admin/unmatched-results/{id}/accept', { names: { id: 'unmatched_id' } }],
    ...['GET /admin/candidates', `GET ${admin}/candidates/{candidate_id}/export`],
    create,
    book,
    `DELETE ${booking}`,
    [`POST ${admin}/candidates/{candidate_id}/erase`, { keep: { erasure_id: 'job_id' } }],
    ['POST /admin/jobs/{job_id}/unmatched-results/erase', { names: { job_id: 'erasure_id' } }],
    'GET /admin/audit',
    `DELETE ${subscription}`,
  ],
  Catalogue: [
    ...['GET /admin/accounts', 'POST /admin/accounts', `PUT ${admin}`, `GET ${admin}`],
    ...['schools', 'accommodations', 'attribute-keys', 'vouchers', 'tests'].map((kind) => `GET ${admin}/${kind}`),
    ...['schools', 'accommodations', 'attribute-keys'].flatMap((kind) => entry(kind)),
    // Voucher and test of the sandbox are in use by now.
    `GET ${admin}/vouchers/{code}`,
    [`DELETE ${admin}/vouchers/{code}`, { also: [403] }],
    `PUT ${admin}/vouchers/{code}`,
    `GET ${admin}/tests/{test_code}`,
    [`DELETE ${admin}/tests/{test_code}`, { also: [403] }],
    `PUT ${admin}/tests/{test_code}`,
  ],
  'Users and applications': [
    ...['POST /admin/users', 'GET /admin/users', 'GET /admin/users/{username}', 'PUT /admin/users/{username}'],
    'POST /admin/users/{username}/unlock',
    ['POST /admin/applications', { keep: { consumer_key: 'consumer_key' } }],
    ...['GET /admin/applications', 'GET /admin/applications/{consumer_key}', 'PUT /admin/applications/{consumer_key}'],
    'POST /admin/applications/{consumer_key}/rotate-secret',
  ],
  Console: [
    ['POST /console/session', { body: { username: '{{operator_username}}', password: '{{operator_password}}' } }],
    ...['GET /console/session', 'DELETE /console/sessions', 'DELETE /console/session'],
    // Only where operators sign in at an identity provider.
    ['GET /console/sign-in', unknown],
    ['GET /console/sign-in/callback', { also: [400, 404] }],
  ],
  'Open to everybody': [
    ...['GET /', 'GET /health/live', 'GET /health/ready', 'GET /problems', 'GET /problems/{code}'],
    ...['GET /.well-known/oauth-authorization-server', 'GET /.well-known/jwks.json'],
  ],
  'The end of tokens': [
    ['POST /introspect', { body: { token: '{{client_token}}' } }],
    ['POST /revoke', { body: { token: '{{client_refresh_token}}' } }],
  ],
};
