import type { OpenAPIObject } from '@nestjs/swagger';

const OF_ACCOUNT = '/accounts/{account_code}';
const OF_CANDIDATE = `${OF_ACCOUNT}/candidates/{candidate_id}`;
const OF_TEST = `${OF_CANDIDATE}/tests/{test_code}`;
const IN_CATALOGUE = '/admin/accounts/{account_code}';

/** Returns the names of the four operations on a kind of catalogue entry. */
const catalogue = (path: string, key: string, one: string, many: string): Record<string, string> => ({
  [`GET ${IN_CATALOGUE}/${path}`]: `list${many}`,
  [`GET ${IN_CATALOGUE}/${path}/{${key}}`]: `get${one}`,
  [`PUT ${IN_CATALOGUE}/${path}/{${key}}`]: `put${one}`,
  [`DELETE ${IN_CATALOGUE}/${path}/{${key}}`]: `delete${one}`,
});

/**
 * The names under which generated clients call the operations. They are part of the contract: a name never changes
 * after its release. test/fixtures/operation-ids.txt lists the names.
 */
const OPERATION_IDS: Record<string, string> = {
  'POST /token': 'requestToken',
  'POST /revoke': 'revokeToken',
  'POST /introspect': 'introspectToken',
  'GET /.well-known/oauth-authorization-server': 'getTokenServiceMetadata',

  [`POST ${OF_ACCOUNT}/candidates`]: 'createEligibility',
  [`PUT ${OF_TEST}`]: 'updateEligibility',
  [`DELETE ${OF_TEST}`]: 'cancelEligibility',
  [`GET ${OF_TEST}`]: 'listEligibilitiesByTest',
  [`GET ${OF_CANDIDATE}`]: 'listEligibilitiesByCandidate',
  [`GET ${OF_CANDIDATE}/eligibilities`]: 'listEligibilitiesByStatus',
  [`GET ${OF_ACCOUNT}/eligibilities`]: 'listEligibilities',
  [`GET ${OF_ACCOUNT}/eligibilities/{svc_id}`]: 'getEligibility',
  [`PUT ${OF_TEST}/vouchers`]: 'replaceEligibilityVouchers',
  [`GET ${OF_TEST}/vouchers`]: 'getEligibilityVouchers',

  [`POST ${OF_TEST}/bookings`]: 'createBooking',
  [`GET ${OF_CANDIDATE}/bookings`]: 'listBookingsByCandidate',
  [`GET ${OF_ACCOUNT}/bookings/{booking_code}`]: 'getBooking',
  [`PUT ${OF_ACCOUNT}/bookings/{booking_code}`]: 'rescheduleBooking',
  [`DELETE ${OF_ACCOUNT}/bookings/{booking_code}`]: 'cancelBooking',
  [`POST ${OF_ACCOUNT}/bookings/{booking_code}/absence`]: 'recordAbsence',

  'GET /eligibilities/{svc_eligibility_code}/testLaunchInfo': 'getTestLaunchInfo',
  'GET /launch/{launch_code}': 'startTest',
  'GET /.well-known/jwks.json': 'getLaunchKeys',

  'POST /registrations/registration/results': 'deliverRegistrationResult',
  [`PUT ${OF_ACCOUNT}`]: 'deliverAccountResult',
  [`GET ${OF_TEST}/results`]: 'listResults',

  [`GET ${OF_ACCOUNT}/changes`]: 'listChanges',

  [`POST ${OF_ACCOUNT}/eligibility-imports`]: 'createImport',
  [`GET ${OF_ACCOUNT}/eligibility-imports`]: 'listImports',
  [`GET ${OF_ACCOUNT}/eligibility-imports/{import_id}`]: 'getImport',
  [`GET ${OF_ACCOUNT}/eligibility-imports/{import_id}/report`]: 'getImportReport',
  [`POST ${OF_ACCOUNT}/eligibility-imports/{import_id}/abort`]: 'abortImport',
  [`GET ${OF_ACCOUNT}/eligibilities.csv`]: 'exportEligibilities',
  'GET /admin/imports': 'listAllImports',
  'POST /admin/imports/{import_id}/abort': 'abortAnyImport',

  'POST /admin/subscriptions': 'createSubscription',
  'GET /admin/subscriptions': 'listSubscriptions',
  'GET /admin/subscriptions/{id}': 'getSubscription',
  'PATCH /admin/subscriptions/{id}': 'changeSubscription',
  'DELETE /admin/subscriptions/{id}': 'deleteSubscription',
  'POST /admin/subscriptions/{id}/verify': 'verifySubscription',
  'POST /admin/subscriptions/{id}/sample': 'sendSample',
  'POST /admin/subscriptions/{id}/suspend': 'suspendSubscription',
  'POST /admin/subscriptions/{id}/resume': 'resumeSubscription',
  'POST /admin/subscriptions/{id}/rotate-secret': 'rotateSigningSecret',
  'GET /admin/subscriptions/{id}/statistics': 'getSubscriptionStatistics',
  'GET /admin/alerts': 'listAlerts',
  'GET /admin/alerts/{name}': 'getAlert',
  'PUT /admin/alerts/{name}': 'putAlert',
  'DELETE /admin/alerts/{name}': 'deleteAlert',
  'POST /admin/alerts/{name}/test': 'testAlert',
  'GET /admin/partners': 'listPartners',

  'GET /admin/notifications': 'listNotifications',
  'GET /admin/notifications/{id}': 'getNotification',
  'POST /admin/notifications/replay': 'replayNotifications',
  'GET /partner/digest': 'readDigest',
  'POST /partner/notifications/poll': 'pollNotifications',

  'GET /admin/error-queue': 'listErrorQueue',
  'GET /admin/error-queue/summary': 'summarizeErrorQueue',
  'POST /admin/error-queue/{notification_id}/resend': 'resendNotification',
  'POST /admin/error-queue/{notification_id}/resolve': 'resolveNotification',
  'POST /admin/error-queue/resend': 'resendNotifications',
  'POST /admin/error-queue/resolve': 'resolveNotifications',
  'GET /admin/error-queue/resends': 'listResends',
  'GET /admin/error-queue/resends/{resend_id}': 'getResend',
  'POST /admin/error-queue/resends/{resend_id}/pause': 'pauseResend',
  'POST /admin/error-queue/resends/{resend_id}/resume': 'resumeResend',
  'POST /admin/error-queue/resends/{resend_id}/abort': 'abortResend',

  'GET /partner/subscriptions': 'listOwnSubscriptions',
  'GET /partner/subscriptions/{id}': 'getOwnSubscription',
  'POST /partner/subscriptions/{id}/verify': 'verifyOwnSubscription',
  'POST /partner/subscriptions/{id}/rotate-secret': 'rotateOwnSigningSecret',
  'POST /partner/subscriptions/{id}/suspend': 'suspendOwnSubscription',
  'POST /partner/subscriptions/{id}/resume': 'resumeOwnSubscription',
  'GET /partner/notifications': 'listOwnNotifications',
  'GET /partner/notifications/{id}': 'getOwnNotification',
  'POST /partner/notifications/{id}/resend': 'resendOwnNotification',
  'POST /partner/notifications/replay': 'replayOwnNotifications',
  'GET /partner/jobs/{job_id}': 'getOwnJob',
  'POST /partner/jobs/{job_id}/pause': 'pauseOwnJob',
  'POST /partner/jobs/{job_id}/resume': 'resumeOwnJob',
  'POST /partner/jobs/{job_id}/abort': 'abortOwnJob',

  'GET /admin/jobs': 'listJobs',
  'GET /admin/jobs/{job_id}': 'getJob',
  'GET /admin/jobs/{job_id}/items': 'listJobItems',
  'POST /admin/jobs/{job_id}/pause': 'pauseJob',
  'POST /admin/jobs/{job_id}/resume': 'resumeJob',
  'POST /admin/jobs/{job_id}/abort': 'abortJob',
  'POST /admin/jobs/{job_id}/unmatched-results/erase': 'eraseTiedResults',

  'GET /console/session': 'getConsoleSession',
  'POST /console/session': 'createConsoleSession',
  'DELETE /console/session': 'endConsoleSession',
  'DELETE /console/sessions': 'endConsoleSessions',
  'GET /console/sign-in': 'beginSignIn',
  'GET /console/sign-in/callback': 'finishSignIn',

  'POST /admin/accounts': 'createAccount',
  'GET /admin/accounts': 'listAccounts',
  [`GET ${IN_CATALOGUE}`]: 'getAccount',
  [`PUT ${IN_CATALOGUE}`]: 'changeAccount',
  ...catalogue('tests', 'test_code', 'Test', 'Tests'),
  ...catalogue('schools', 'code', 'School', 'Schools'),
  ...catalogue('accommodations', 'code', 'Accommodation', 'Accommodations'),
  ...catalogue('attribute-keys', 'code', 'AttributeKey', 'AttributeKeys'),
  ...catalogue('vouchers', 'code', 'Voucher', 'Vouchers'),
  'POST /admin/users': 'createUser',
  'GET /admin/users': 'listUsers',
  'GET /admin/users/{username}': 'getUser',
  'PUT /admin/users/{username}': 'changeUser',
  'POST /admin/users/{username}/unlock': 'unlockUser',
  'POST /admin/applications': 'createApplication',
  'GET /admin/applications': 'listApplications',
  'GET /admin/applications/{consumer_key}': 'getApplication',
  'PUT /admin/applications/{consumer_key}': 'changeApplication',
  'POST /admin/applications/{consumer_key}/rotate-secret': 'rotateConsumerSecret',
  'GET /admin/audit': 'listAuditEntries',
  'GET /admin/audit/seals': 'getAuditSeals',
  'GET /admin/overview': 'getOverview',
  'GET /admin/events': 'streamEvents',

  'GET /admin/eligibilities': 'listWaitingEligibilities',
  'GET /admin/eligibilities/{svc_id}': 'getEligibilityAsOperator',
  'POST /admin/eligibilities/{svc_id}/hold': 'holdEligibility',
  'POST /admin/eligibilities/{svc_id}/release': 'releaseEligibility',
  'POST /admin/eligibilities/{svc_id}/approve-accommodations': 'approveAccommodations',
  'POST /admin/eligibilities/{svc_id}/decline-accommodations': 'declineAccommodations',
  'POST /admin/eligibilities/{svc_id}/result/hold': 'holdResult',
  'POST /admin/eligibilities/{svc_id}/result/release': 'releaseResult',
  'POST /admin/eligibilities/{svc_id}/result/revoke': 'revokeResult',
  'GET /admin/eligibilities/{svc_id}/results/{revision}': 'getResultAsOperator',
  'GET /admin/candidates': 'searchCandidates',
  [`GET ${IN_CATALOGUE}/candidates/{candidate_id}`]: 'listCandidateEligibilities',
  [`GET ${IN_CATALOGUE}/candidates/{candidate_id}/bookings`]: 'listCandidateBookings',
  [`GET ${IN_CATALOGUE}/candidates/{candidate_id}/results`]: 'listCandidateResults',
  [`GET ${IN_CATALOGUE}/candidates/{candidate_id}/changes`]: 'listCandidateChanges',
  [`GET ${IN_CATALOGUE}/candidates/{candidate_id}/audit`]: 'listCandidateAuditEntries',
  [`GET ${IN_CATALOGUE}/candidates/{candidate_id}/export`]: 'exportCandidate',
  [`POST ${IN_CATALOGUE}/candidates/{candidate_id}/erase`]: 'eraseCandidate',
  'GET /admin/unmatched-results': 'listUnmatchedResults',
  'GET /admin/unmatched-results/{id}': 'getUnmatchedResult',
  'GET /admin/unmatched-results/{id}/raw': 'getUnmatchedResultBody',
  'GET /admin/unmatched-results/{id}/candidates': 'listLikelyExams',
  'GET /admin/unmatched-results/{id}/exam': 'getExamByCode',
  'POST /admin/unmatched-results/{id}/reject': 'rejectUnmatchedResult',
  'POST /admin/unmatched-results/{id}/accept': 'acceptUnmatchedResult',

  'GET /sandbox/clock': 'getClock',
  'POST /sandbox/clock': 'moveClock',
  'POST /sandbox/events': 'raiseEvent',
  'GET /sandbox/received': 'listReceivedRequests',

  'GET /': 'getRoot',
  'GET /problems': 'listProblems',
  'GET /problems/{code}': 'getProblem',
  'GET /health/live': 'getLiveness',
  'GET /health/ready': 'getReadiness',
};

/**
 * Sets the operation id of every operation. An operation without an entry would keep the name of its handler; a test
 * finds such operations.
 */
export function nameOperations(document: OpenAPIObject): void {
  for (const [path, item] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries(item) as [string, { operationId?: string }][])
      operation.operationId = OPERATION_IDS[`${method.toUpperCase()} ${path}`] ?? operation.operationId;
}
