import type { OpenAPIObject } from '@nestjs/swagger';

/** In the order of a client's work; the tags of partners and operators follow. */
const TAGS: Record<string, string> = {
  'Token service': 'Access tokens for a user through an application (RFC 6749). Every other call bears one.',
  Eligibilities: 'Permissions to sit an exam in a time window: create, update, cancel, read, vouchers.',
  Bookings: 'Appointments for exams. Partners are notified of their changes.',
  Launch: 'The way of a candidate into a test.',
  Results: 'Results from test drivers, and reading them back.',
  'Change feed': 'The changes of an account’s records, without a gap.',
  'Import and export': 'Many eligibilities at once, as CSV or NDJSON.',
  Subscriptions: 'The partners that are notified, and how.',
  Notifications: 'Notifications to partners, with every attempt.',
  'Error queue': 'Notifications that did not arrive: find the cause, send again, settle.',
  'Bulk jobs': 'Resends, replays and other work on many notifications.',
  Console: 'Sessions of operators in a browser: signing in and out.',
  Administration: 'Accounts and their catalogue, users, applications, audit.',
  "Candidates' rights": 'The data that is held about a candidate, and its erasure.',
  Sandbox: 'Tools that only the sandbox has: time, events, a partner.',
  Errors: 'The catalogue of every code of an error.',
  Health: 'Whether the process runs and can take requests.',
};

const LIST = 'Newest first, page by page: `Link` with `rel="next"` leads on, until it is missing.';
const MERGED = 'A member that is left out stays as it is.';
const UPSERT = 'Made when there is none with this code; else replaced as a whole. The same call again changes nothing.';
const JOB =
  'Answers at once with a job, which is done in the background and survives a restart: follow it at `/admin/jobs/{job_id}`.';
const STEERED = 'Obeyed within a second by every process. A job that has ended answers 409.';
const EVENT = 'Raises an event: subscribed partners are notified.';

/** Descriptions of operations whose controllers have only a summary. */
export const DESCRIPTIONS: Record<string, string> = {
  'GET /console/session': 'Always answers; it does not make the session last longer.',
  'POST /console/session':
    'For users with `admin` or `support`. The cookie takes the place of a token on every route, in requests with the header `Console-Request: 1`. Every refusal is the same.',
  'DELETE /console/session':
    'Ends the session of the cookie at once, in every process. With `organisation=true` the answer has the address at which the browser signs out at the identity provider.',
  'DELETE /console/sessions': 'Tokens of other applications stay.',
  'GET /console/sign-in':
    'OpenID Connect, by authorization code with PKCE. 404 where the service has no identity provider.',
  'GET /console/sign-in/callback':
    'Groups are read here, at each sign-in. A user without a mapped group gets a page that says so, and loses the rights of earlier groups.',
  'GET /health/live': 'Asks nothing but the process itself: restart it when this does not answer.',
  'GET /health/ready': '503 says that requests should go elsewhere: a part is down, or the process is stopping.',
  'GET /problems': 'A browser gets a page, programs get JSON.',
  'GET /problems/{code}': 'Its meaning and its remedy. The `type` of every problem leads here.',
  'POST /admin/subscriptions':
    'The signing secret is shown in this answer alone. Nothing is sent until the subscription has been verified.',
  'GET /admin/subscriptions': LIST,
  'GET /admin/subscriptions/{id}': 'Its state, its health and its settings; secrets are never shown again.',
  'PATCH /admin/subscriptions/{id}': `${MERGED} Notifications not yet begun are sent by the new settings.`,
  'DELETE /admin/subscriptions/{id}': 'Answers at once; what is in flight ends. Resolved notifications stay readable.',
  'POST /admin/subscriptions/{id}/verify':
    'The sample is a complete, signed NotificationRequest with invented codes; it is not stored. A refusal has the answer of the partner.',
  'POST /admin/subscriptions/{id}/sample':
    'Name, address, certificate, sign-in, answer: what could be seen of each. Nothing is stored; with `verify` a 200 does what a verification does.',
  'GET /admin/partners': `\`failing_since\` marks a partner that is UP and takes nothing. ${LIST}`,
  'GET /admin/overview':
    'Counted for all who look at once, about once a second; figures of many rows some seconds ago.',
  'GET /admin/imports': LIST,
  'POST /admin/subscriptions/{id}/suspend':
    'Once this has answered, no attempt begins in any process. The time does not count towards giving up.',
  'POST /admin/subscriptions/{id}/resume': 'Events of the time of suspension go out in the order of each booking.',
  'POST /admin/subscriptions/{id}/rotate-secret': 'The new secret is shown in this answer alone.',
  'GET /admin/subscriptions/{id}/statistics': 'The last 7 days, hour by hour: delivered, failed by class, p50 and p95.',
  'GET /admin/notifications': LIST,
  'GET /admin/notifications/{id}': 'The body is the one that is sent, byte for byte, on every attempt.',
  'POST /admin/notifications/replay': `${JOB} They go behind what is still due for the same booking.`,
  'GET /admin/error-queue': `Notifications that failed, and those that wait for a partner that is DOWN. ${LIST}`,
  'GET /admin/error-queue/summary': 'How many by partner and cause, with the oldest and the next exam concerned.',
  'POST /admin/error-queue/{notification_id}/resend':
    'The same id and bytes. While the partner is suspended it is refused; what is not in the queue is 409.',
  'POST /admin/error-queue/{notification_id}/resolve': 'The reason is kept with the notification and in the audit.',
  'POST /admin/error-queue/resend': `${JOB} With \`dry_run\` it only counts.`,
  'POST /admin/error-queue/resolve': `${JOB} With \`dry_run\` it only counts.`,
  'GET /admin/error-queue/resends': `The same jobs as at \`/admin/jobs\`. ${LIST}`,
  'GET /admin/error-queue/resends/{resend_id}':
    '`matched` is null while the set is being made; `sent` counts attempts begun.',
  'POST /admin/error-queue/resends/{resend_id}/pause': STEERED,
  'POST /admin/error-queue/resends/{resend_id}/resume': STEERED,
  'POST /admin/error-queue/resends/{resend_id}/abort': STEERED,
  'GET /admin/jobs': LIST,
  'GET /admin/jobs/{job_id}': '`matched` is null while the set is being made; `sent` counts attempts begun.',
  'GET /admin/jobs/{job_id}/items': 'Oldest notification first, page by page.',
  'POST /admin/jobs/{job_id}/pause': STEERED,
  'POST /admin/jobs/{job_id}/resume': STEERED,
  'POST /admin/jobs/{job_id}/abort': STEERED,
  'GET /.well-known/oauth-authorization-server': 'For libraries that configure themselves.',
  'POST /admin/users': 'The rights of a user are the scopes that both the user and the application have.',
  'GET /admin/users': LIST,
  'GET /admin/users/{username}': 'Never the password.',
  'POST /admin/applications': 'The secret is shown in this answer alone.',
  'GET /admin/applications': LIST,
  'GET /admin/applications/{consumer_key}': 'Never the secret.',
  'POST /admin/accounts': 'An account is a tenant: it has its own tests, candidates, vouchers and partners.',
  'GET /admin/accounts': LIST,
  'GET /admin/accounts/{account_code}': 'Its name and how long it keeps what is personal.',
  'PUT /admin/accounts/{account_code}': `${MERGED} null keeps for ever.`,
  'GET /admin/accounts/{account_code}/tests': LIST,
  'GET /admin/accounts/{account_code}/tests/{test_code}': 'With its portions in their order.',
  ...Object.fromEntries(
    (['schools', 'accommodations', 'attribute-keys', 'vouchers'] as const).flatMap((kind): [string, string][] => {
      const path = `/admin/accounts/{account_code}/${kind}`;
      return [
        ...(kind === 'vouchers' ? [] : [[`PUT ${path}/{code}`, UPSERT] as [string, string]]),
        [`GET ${path}`, LIST],
        [`GET ${path}/{code}`, 'As it was last put.'],
      ];
    }),
  ),
  'POST /accounts/{account_code}/candidates':
    'One record for a candidate and a test. A live one for the same is `duplicate_eligibility`, with its id. `errors` names every fault at once.',
  'PUT /accounts/{account_code}/candidates/{candidate_id}/tests/{test_code}':
    'The live record, else the newest expired one. A member left out is unchanged, null clears; all or nothing. A body that GET returned may be sent back.',
  'DELETE /accounts/{account_code}/candidates/{candidate_id}/tests/{test_code}':
    'The record stays readable as CANCELLED, and its vouchers are free again. A booked one is refused: cancel the booking first.',
  'GET /accounts/{account_code}/candidates/{candidate_id}/tests/{test_code}': 'Newest first, of every status.',
  'GET /accounts/{account_code}/candidates/{candidate_id}': 'For all tests and of every status, newest first.',
  'GET /accounts/{account_code}/candidates/{candidate_id}/eligibilities':
    '`status` is `active`, `inactive`, `all` or one status. Without a match the answer is an empty array.',
  'PUT /accounts/{account_code}/candidates/{candidate_id}/tests/{test_code}/vouchers':
    'An array of codes, or an object with `voucher_codes`. All or nothing: each code at fault is named by its index.',
  'GET /accounts/{account_code}/eligibilities':
    'A change that is committed late can be missed by `updated_since`: overlap by a minute, or read the change feed, which has no such gap.',
  'GET /accounts/{account_code}/eligibilities/{svc_id}':
    'Of any status. An entry of the change feed names the record by this id.',
  'POST /admin/eligibilities/{svc_id}/hold': 'The audit log has the reason. Only PENDING and ELIGIBLE can be held.',
  'POST /admin/eligibilities/{svc_id}/release': 'ELIGIBLE again, unless accommodations wait for approval.',
  'POST /admin/eligibilities/{svc_id}/approve-accommodations': 'ELIGIBLE, unless it is held.',
  'GET /eligibilities/{svc_eligibility_code}/testLaunchInfo':
    'The address is good once and for 300 seconds; hand it to the candidate’s browser as it is.',
  'GET /launch/{launch_code}':
    'Leads to the test driver with a signed `launch_token`. No token of this service is needed.',
  'GET /.well-known/jwks.json': 'For test drivers. A key that is no longer used stays here for a day.',
  'POST /accounts/{account_code}/candidates/{candidate_id}/tests/{test_code}/bookings': `The eligibility must be ELIGIBLE, and its window hold \`booking_on\`. ${EVENT}`,
  'GET /accounts/{account_code}/candidates/{candidate_id}/bookings': 'Newest first.',
  'GET /accounts/{account_code}/bookings/{booking_code}': 'By the code that its creation answered with.',
  'PUT /accounts/{account_code}/bookings/{booking_code}': `The whole appointment is sent. ${EVENT}`,
  'DELETE /accounts/{account_code}/bookings/{booking_code}': `The eligibility can be booked again while its window lasts. ${EVENT}`,
  'POST /accounts/{account_code}/bookings/{booking_code}/absence': `Excused: it can be booked again. Not excused: the record ends as ABSENT. ${EVENT}`,
  'GET /admin/candidates': 'By the beginning of an id, code, name or e-mail address, in any case.',
  'GET /accounts/{account_code}/candidates/{candidate_id}/tests/{test_code}/results':
    'Each accepted body is a revision. Photo, video link and exam credentials are for callers with the scope `results` alone.',
  'GET /admin/eligibilities': `PENDING alone, as long as the window lasts. ${LIST}`,
  'GET /admin/eligibilities/{svc_id}': '`allows` is what may be done to it at this moment.',
  'GET /admin/accounts/{account_code}/candidates/{candidate_id}': 'For all tests and of every status.',
  'GET /admin/accounts/{account_code}/candidates/{candidate_id}/bookings':
    'The bookings that clients read with the scope `bookings`.',
  'GET /admin/accounts/{account_code}/candidates/{candidate_id}/results':
    'Whether there is a photo and a link; they are read one by one.',
  'GET /admin/accounts/{account_code}/candidates/{candidate_id}/changes': 'Entries of the change feed.',
  'GET /admin/accounts/{account_code}/candidates/{candidate_id}/audit': LIST,
  'GET /admin/eligibilities/{svc_id}/results/{revision}':
    'examPassword and extExamToken are never shown here. Reading a photo or a link leaves an audit row.',
  'GET /admin/unmatched-results/{id}':
    'As it was delivered; examPassword and extExamToken for callers with the scope `results` alone. Reading a photo or a link leaves an audit row.',
  'POST /accounts/{account_code}/eligibility-imports':
    'Columns are the members of the Eligibility Model, and `action` (ADD, UPDATE, CANCEL). The rules are those of the single calls. A line that names a record (`svc_eligiblity_id`) means that record. `dry_run=true` changes nothing and reports as if.',
  'GET /accounts/{account_code}/eligibility-imports': LIST,
  'GET /accounts/{account_code}/eligibility-imports/{import_id}': 'Counts of rows by outcome, as far as it is.',
  'GET /accounts/{account_code}/eligibility-imports/{import_id}/report':
    'CSV: row, outcome, code, pointer, detail, line, candidate_id, test_code, svc_eligiblity_id, column, value.',
  'POST /accounts/{account_code}/eligibility-imports/{import_id}/abort': 'An import that has ended is left as it is.',
  'POST /admin/imports/{import_id}/abort':
    'An import that has ended is left as it is. The report says that an operator ended it.',
  'GET /accounts/{account_code}/eligibilities.csv': 'Streamed; safe against formulas in spreadsheets.',
  'GET /admin/accounts/{account_code}/candidates/{candidate_id}/export':
    'Records, bookings, results, notifications, audit subjects.',
  'POST /admin/accounts/{account_code}/candidates/{candidate_id}/erase': `${JOB} It cannot be undone. An open booking is in the way: 409.`,
  'GET /sandbox/clock': 'It runs as the machine’s does, ahead of it by as much as it was moved.',
  'GET /sandbox/received': 'Headers and body as they came, so that signatures can be verified.',
};

interface Operation {
  description?: string;
  tags?: string[];
}

/** Describes every operation and its tag; a controller's own description takes precedence. */
export function describeOperations(document: OpenAPIObject): void {
  const spoken = new Set<string>();
  for (const [path, item] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries(item) as [string, Operation][]) {
      operation.description ??= DESCRIPTIONS[`${method.toUpperCase()} ${path}`];
      for (const tag of operation.tags ?? []) spoken.add(tag);
    }
  document.tags = Object.entries(TAGS)
    .filter(([name]) => spoken.has(name))
    .map(([name, description]) => ({ name, description }));
}
