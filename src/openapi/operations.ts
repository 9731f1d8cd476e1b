import type { OpenAPIObject } from '@nestjs/swagger';

/**
 * The tags of operations, in the order in which a client needs them. The tags for partners and for operators come last.
 */
const TAGS: Record<string, string> = {
  'Token service':
    'Request access tokens for a user and an application (RFC 6749). Most other requests need an access token.',
  Eligibilities:
    'Create, update, cancel and read eligibilities. An eligibility is the permission to take an exam within a time window.',
  Bookings: 'Book, move and cancel exam appointments. Partners are notified of each change.',
  Launch: 'Start a test in the browser of a candidate.',
  Results: 'Deliver results as a test driver, and read them.',
  'Change feed': 'Read every change of an account’s records, without gaps.',
  'Import and export': 'Import and export many eligibilities as CSV or NDJSON.',
  Subscriptions: 'Manage the partners that receive notifications.',
  Alerts: 'Inform people by mail, or other systems by webhooks, of conditions that need attention.',
  Notifications: 'Read the notifications to partners with all their delivery attempts.',
  'Error queue': 'Find the cause of failed notifications, then resend or resolve them.',
  'Bulk jobs': 'Follow and control resends, replays and other jobs over many notifications.',
  Partner: 'Poll and read one’s own notifications as a partner, check that none is missing, and have them sent again.',
  Console: 'Sign operators in to the console and out of it.',
  Administration: 'Manage accounts, their catalogue, users and applications, and read the audit log.',
  "Candidates' rights": 'Export and erase the personal data of a candidate.',
  Sandbox: 'Move the clock, create events and read the requests that the partner of the sandbox received.',
  Errors: 'Read the catalogue of all error codes.',
  Health: 'Check that the process is running and can take requests.',
};

const NEXT = 'Follow `Link` with `rel="next"` until the header is missing.';
const LIST = `The list is sorted newest first. ${NEXT}`;
const ORDERED_LIST = `The list is sorted newest first, unless \`order\` or another parameter says otherwise. ${NEXT}`;
const MERGED = 'A member that is left out is not changed.';
const UPSERT =
  'The entry is created if no entry has this code. Otherwise it is replaced completely. Repeating the request changes nothing.';
const JOB =
  'The response is a job that runs in the background and survives a restart. Follow its progress at `/admin/jobs/{job_id}`.';
const STEERED = 'Every process applies the change within a second. The response is 409 when the job has already ended.';
const EVENT = 'Subscribed partners are notified.';

/** Descriptions of the operations whose controllers have only a summary. */
export const DESCRIPTIONS: Record<string, string> = {
  'GET /console/session': 'This request needs no session and does not extend one.',
  'POST /console/session':
    'Users with the scope `admin`, `support` or `partner` can sign in. A partner sees the pages of its own subscriptions. The response sets a session cookie. Requests with this cookie and the header `Console-Request: 1` need no access token. Every refusal is the same.',
  'DELETE /console/session':
    'The session ends immediately in every process. With `organisation=true` the response has the address at which the browser signs out of the identity provider.',
  'DELETE /console/sessions': 'The tokens of other applications stay valid.',
  'GET /console/sign-in':
    'This starts an OpenID Connect sign-in with an authorization code and PKCE. The status is 404 when no identity provider is configured.',
  'GET /console/sign-in/callback':
    'The identity provider redirects the browser to this address. The service reads the groups of the user at each sign-in. A user without a mapped group gets an error page and loses the rights of earlier groups.',
  'GET /health/live': 'This check uses no other component. Restart the process if it does not answer this request.',
  'GET /health/ready':
    'The check covers the database, the migrations and the delivery loop. The status is 503 while a component is down or the process is stopping. Send requests to another process then.',
  'GET /problems': 'The response is an HTML page for browsers and JSON for programs.',
  'GET /problems/{code}':
    'The entry has the meaning and the remedy. The `type` of every problem document is this address.',
  'POST /admin/subscriptions':
    'The signing secret is shown only in this response. Nothing is sent to the partner until the subscription is verified.',
  'POST /partner/notifications/poll':
    'The partner of a subscription with `delivery` POLL fetches its notifications with this request. A notification in `ack` is delivered. A notification in `refuse` waits for an operator, as after a status 400. A notification in neither list is offered again when `lease_s` is over. The next event of a booking is offered after the earlier one was acknowledged or refused. Subscriptions with `delivery` PUSH offer nothing.',
  'GET /partner/digest':
    'Compare each step with the same digest of the notifications that you have kept, by their `effective_date`. If a step differs, request it again with smaller steps. The digest covers every delivered notification that the service still keeps, with its body as you last acknowledged it. Steps that begin at multiples of five minutes are fastest.',
  'GET /admin/subscriptions': LIST,
  'GET /admin/alerts': LIST,
  'GET /admin/alerts/{name}':
    'The response has the settings, the time of the last message and the cause of the last failure. Values of headers are never shown.',
  'DELETE /admin/alerts/{name}': 'Messages that wait to be sent are deleted as well.',
  'GET /admin/subscriptions/{id}':
    'The response has the state, the health and the settings. Secrets are never shown again.',
  'PATCH /admin/subscriptions/{id}': `${MERGED} With null, a setting returns to its default. A new partner_url must be verified again. Notifications that are not yet being sent use the new settings.`,
  'DELETE /admin/subscriptions/{id}':
    'The response is immediate, and attempts that have begun will finish. Resolved notifications can still be read.',
  'POST /admin/subscriptions/{id}/verify':
    'The sample is a complete, signed NotificationRequest with invented codes, and it is not stored. The subscription becomes ACTIVE when the partner answers with status 200, or SUSPENDED if it was suspended before its address changed. Otherwise the error contains the answer of the partner. A subscription without an address, whose partner polls, stays unchanged.',
  'POST /admin/subscriptions/{id}/sample':
    'The report covers the host name, the address, the certificate, the authentication and the answer. Nothing is stored. With `verify`, an answer with status 200 also verifies the subscription.',
  'GET /admin/partners': `\`failing_since\` is set from the first failed attempt until the next success, even for a partner that is UP. ${LIST}`,
  'GET /admin/overview':
    'The figures are counted about once a second and shared by all users. Figures over many rows may be some seconds old.',
  'GET /admin/imports': LIST,
  'POST /admin/subscriptions/{id}/suspend':
    'After the response, no process begins another delivery attempt. The time of the suspension does not count towards the limit for automatic retries.',
  'POST /admin/subscriptions/{id}/resume':
    'The events that were kept during the suspension are sent in order for each booking.',
  'POST /admin/subscriptions/{id}/rotate-secret':
    'The new secret is shown only in this response. Requests are also signed with the replaced secret for 24 hours. At most the five newest secrets sign.',
  'GET /admin/subscriptions/{id}/statistics':
    'The statistics cover the last 7 days by hour: delivered attempts, failed attempts by class, and the 50th and 95th percentile of the duration. They also count the events that are waiting.',
  'GET /admin/notifications': ORDERED_LIST,
  'GET /admin/notifications/{id}': 'Every attempt sends the same bytes. In the response, `body` is the parsed body.',
  'POST /admin/notifications/replay': `${JOB} The notifications keep their ids and bytes, and follow the notifications that are still due for the same booking.`,
  'GET /admin/error-queue': `The error queue contains the notifications that failed and those that wait for a partner that is DOWN. ${ORDERED_LIST}`,
  'GET /admin/error-queue/summary':
    'The summary counts the notifications for each partner and cause. It also states when the oldest notification was created, and when the next affected exam starts.',
  'POST /admin/error-queue/{notification_id}/resend':
    'The notification is sent with the same id and bytes, even if the partner is DOWN. The request is refused while the partner is suspended, and with 409 when the notification is not in the queue.',
  'POST /admin/error-queue/{notification_id}/resolve':
    'A resolved notification is kept but never sent again. The reason is kept with the notification and in the audit log.',
  'POST /admin/error-queue/resend': `${JOB} With \`dry_run\` the service only counts the notifications.`,
  'POST /admin/error-queue/resolve': `${JOB} With \`dry_run\` the service only counts the notifications.`,
  'GET /admin/error-queue/resends': `The list has the same jobs as \`/admin/jobs\`. ${LIST}`,
  'GET /admin/error-queue/resends/{resend_id}':
    '`matched` is null until the service has found all notifications of the job. `sent` counts the attempts that have begun.',
  'POST /admin/error-queue/resends/{resend_id}/pause': STEERED,
  'POST /admin/error-queue/resends/{resend_id}/resume': STEERED,
  'POST /admin/error-queue/resends/{resend_id}/abort': STEERED,
  'GET /partner/subscriptions': LIST,
  'GET /partner/subscriptions/{id}': 'A subscription of another partner is unknown. The secret is not shown.',
  'POST /partner/subscriptions/{id}/verify':
    'The service sends a sample to the address of the subscription. Its answer must have the status 200. Otherwise the status is 400 `verification_failed`, with the answer. The sample is not stored. A subscription without an address stays unchanged.',
  'POST /partner/subscriptions/{id}/rotate-secret':
    'The response shows the new secret once. For 24 hours every notification is also signed with the replaced secret. At most the five newest secrets sign.',
  'POST /partner/subscriptions/{id}/suspend':
    'Once the response is sent, no attempt begins. The events are kept, and are sent after the subscription is resumed.',
  'POST /partner/subscriptions/{id}/resume':
    'The status is 403 `suspended_by_operator` when an operator suspended the subscription.',
  'GET /partner/notifications': ORDERED_LIST,
  'GET /partner/notifications/{id}': 'Every attempt sends the same bytes. In the response, `body` is the parsed body.',
  'POST /partner/notifications/{id}/resend':
    'The notification must be in the error queue. A notification that was delivered is sent again by a replay with its id.',
  'POST /partner/notifications/replay':
    'The response is a job, whose progress is at `/partner/jobs/{job_id}`. The notifications keep their ids and bytes, and follow the notifications that are still due for the same booking.',
  'GET /partner/jobs/{job_id}': 'Only jobs that were started for the caller’s subscriptions can be read.',
  'POST /partner/jobs/{job_id}/pause': STEERED,
  'POST /partner/jobs/{job_id}/resume': STEERED,
  'POST /partner/jobs/{job_id}/abort': STEERED,
  'GET /admin/jobs': LIST,
  'GET /admin/jobs/{job_id}':
    '`matched` is null until the service has found all notifications of the job. `sent` counts the attempts that ' +
    'have begun.',
  'GET /admin/jobs/{job_id}/items': 'The list is sorted by the age of the notifications, oldest first.',
  'POST /admin/jobs/{job_id}/pause': STEERED,
  'POST /admin/jobs/{job_id}/resume': STEERED,
  'POST /admin/jobs/{job_id}/abort': STEERED,
  'GET /.well-known/oauth-authorization-server': 'OAuth libraries read this document to configure themselves.',
  'POST /admin/users': 'A request has the scopes that both its user and its application have.',
  'GET /admin/users': LIST,
  'GET /admin/users/{username}': 'The password is never shown.',
  'POST /admin/applications': 'The secret is shown only in this response.',
  'GET /admin/applications': LIST,
  'GET /admin/applications/{consumer_key}': 'The secret is never shown.',
  'POST /admin/accounts':
    'An account belongs to one client and has its own tests, candidates, vouchers and partners. The service chooses ' +
    'the account code.',
  'GET /admin/accounts': LIST,
  'GET /admin/accounts/{account_code}':
    'The response has the name of the account and its retention periods for personal data.',
  'PUT /admin/accounts/{account_code}': `${MERGED} With null, personal data is kept without a time limit.`,
  'GET /admin/accounts/{account_code}/tests': LIST,
  'GET /admin/accounts/{account_code}/tests/{test_code}':
    'The response includes the portions of the test in their order.',
  ...Object.fromEntries(
    (['schools', 'accommodations', 'attribute-keys', 'vouchers'] as const).flatMap((kind): [string, string][] => {
      const path = `/admin/accounts/{account_code}/${kind}`;
      return [
        ...(kind === 'vouchers' ? [] : [[`PUT ${path}/{code}`, UPSERT] as [string, string]]),
        [`GET ${path}`, LIST],
        [`GET ${path}/{code}`, 'The response is the definition that was last saved.'],
      ];
    }),
  ),
  'POST /accounts/{account_code}/candidates':
    'A candidate can have one open eligibility for a test. A second one is refused with `duplicate_eligibility`, and the error names the existing one. `errors` lists all errors of the request.',
  'PUT /accounts/{account_code}/candidates/{candidate_id}/tests/{test_code}':
    'The request changes the open eligibility, or the newest expired one if none is open. A member that is left out is not changed, and null clears it. All changes are made together or not at all. A body that GET returned may be sent back.',
  'DELETE /accounts/{account_code}/candidates/{candidate_id}/tests/{test_code}':
    'The record can still be read with the status CANCELLED, and its vouchers can be used again. A booked eligibility cannot be cancelled: cancel the booking first.',
  'GET /accounts/{account_code}/candidates/{candidate_id}/tests/{test_code}':
    'The list has eligibilities of every status, newest first.',
  'GET /accounts/{account_code}/candidates/{candidate_id}':
    'The list has eligibilities for all tests and of every status, newest first.',
  'GET /accounts/{account_code}/candidates/{candidate_id}/eligibilities':
    '`status` is `active`, `inactive`, `all` or the name of one status. Without this parameter, all eligibilities are listed. If none match, the response is an empty array.',
  'PUT /accounts/{account_code}/candidates/{candidate_id}/tests/{test_code}/vouchers':
    'The body is an array of codes or an object with `voucher_codes`. If one code is refused, no code is applied. The error names each refused code by its index.',
  'GET /accounts/{account_code}/eligibilities':
    'A reader that polls with `updated_since` can miss a change that is committed late. Overlap each period by two minutes, or read the change feed, which has no gaps.',
  'GET /accounts/{account_code}/eligibilities/{svc_id}':
    'The eligibility may have any status. Entries of the change feed name the record by this id.',
  'POST /admin/eligibilities/{svc_id}/hold':
    'The exam cannot be booked until the hold is released. Only PENDING and ELIGIBLE records can be put on hold. The reason is kept in the audit log.',
  'POST /admin/eligibilities/{svc_id}/release':
    'The record becomes ELIGIBLE, unless its accommodations still wait for approval.',
  'POST /admin/eligibilities/{svc_id}/approve-accommodations': 'The record becomes ELIGIBLE, unless it is on hold.',
  'GET /eligibilities/{svc_eligibility_code}/testLaunchInfo':
    'The URL can be opened once, within 300 seconds. Pass it to the browser of the candidate without changing it.',
  'GET /launch/{launch_code}':
    'The browser opens the URL that testLaunchInfo returned. It is redirected to the test driver with a signed `launch_token`. No access token is needed.',
  'GET /.well-known/jwks.json':
    'Test drivers and token services use these keys. A key that is no longer used is listed for one more day.',
  'POST /accounts/{account_code}/candidates/{candidate_id}/tests/{test_code}/bookings': `The eligibility must be ELIGIBLE, and \`booking_on\` must lie within its window. ${EVENT}`,
  'GET /accounts/{account_code}/candidates/{candidate_id}/bookings': 'The records, newest first.',
  'GET /accounts/{account_code}/bookings/{booking_code}':
    'The booking is named by the code that was returned when it was created.',
  'PUT /accounts/{account_code}/bookings/{booking_code}': `The request contains the complete new appointment. ${EVENT}`,
  'DELETE /accounts/{account_code}/bookings/{booking_code}': `The eligibility can be booked again within its window. ${EVENT}`,
  'POST /accounts/{account_code}/bookings/{booking_code}/absence': `After an excused absence the eligibility can be booked again. After an absence without excuse its final status is ABSENT. ${EVENT}`,
  'GET /admin/candidates':
    'The search finds the beginning of an id, code, name or e-mail address, in upper or lower case.',
  'GET /accounts/{account_code}/candidates/{candidate_id}/tests/{test_code}/results':
    'Each accepted body is a revision. Only callers with the scope `results` see the photo, the video link and the exam credentials.',
  'GET /admin/eligibilities': `The list has the PENDING records of all accounts whose window has not ended. ${LIST}`,
  'GET /admin/eligibilities/{svc_id}': '`allows` lists the actions that are possible at this moment.',
  'GET /admin/accounts/{account_code}/candidates/{candidate_id}':
    'The list has records for all tests and of every status.',
  'GET /admin/accounts/{account_code}/candidates/{candidate_id}/bookings':
    'These are the same bookings that clients read with the scope `bookings`.',
  'GET /admin/accounts/{account_code}/candidates/{candidate_id}/results':
    'The list states whether a result has a photo and a video link. Read a single result to see them.',
  'GET /admin/accounts/{account_code}/candidates/{candidate_id}/changes':
    'The entries have the same form as those of the change feed.',
  'GET /admin/accounts/{account_code}/candidates/{candidate_id}/audit': LIST,
  'GET /admin/eligibilities/{svc_id}/results/{revision}':
    'The members examPassword and extExamToken are never shown here. The audit log records each reading of a photo or video link.',
  'GET /admin/unmatched-results/{id}':
    'As it was delivered; examPassword and extExamToken for callers with the scope `results` alone. Reading a photo or a link leaves an audit row.',
  'POST /accounts/{account_code}/eligibility-imports':
    'A file has at most 1,000,000 rows and 512 MiB. Its columns are the members of the Eligibility Model and `action` (ADD, UPDATE or CANCEL). Each row follows the rules of the request for a single eligibility. A line with an `svc_eligiblity_id` applies to that record. With `dry_run=true` nothing is changed, and the report shows the outcome that the import would have.',
  'GET /accounts/{account_code}/eligibility-imports': LIST,
  'GET /accounts/{account_code}/eligibility-imports/{import_id}': 'The response counts the processed rows by outcome.',
  'GET /accounts/{account_code}/eligibility-imports/{import_id}/report':
    'The report is a CSV file with the outcome of each processed row. A refused row has one line for each error. The columns are row, outcome, code, pointer, detail, line, candidate_id, test_code, svc_eligiblity_id, column and value.',
  'POST /accounts/{account_code}/eligibility-imports/{import_id}/abort':
    'Rows that were already processed stay processed. An import that has ended cannot be aborted.',
  'POST /admin/imports/{import_id}/abort':
    'Rows that were already processed stay processed. The report states that an operator aborted the import. An import that has ended cannot be aborted.',
  'GET /accounts/{account_code}/eligibilities.csv':
    'The file has the columns of an import, newest record first. Cells that a spreadsheet would read as a formula are escaped.',
  'GET /admin/accounts/{account_code}/candidates/{candidate_id}/export':
    'The export has the records, bookings, results, notifications and audit subjects of the candidate. The audit log records the export.',
  'POST /admin/accounts/{account_code}/candidates/{candidate_id}/erase': `${JOB} An erasure cannot be undone. The status is 409 while the candidate has an open booking.`,
  'GET /sandbox/clock': 'It runs as the machine’s does, ahead of it by as much as it was moved.',
  'GET /sandbox/received': 'Headers and body as they came, so that signatures can be verified.',
};

interface Operation {
  description?: string;
  tags?: string[];
}

/** Adds a description to every operation and every tag. A description in the controller takes precedence. */
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
