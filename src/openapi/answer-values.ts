import { version } from '../../package.json';
import { BOOKING, CANDIDATE, END, EXAM, TEST, UUID, type Surroundings } from './examples.js';

const RECORD = 'K7MWQ2XA';
const THEN = '2027-01-31T08:00:00Z';

/**
 * Example values of members. The keys are the names of the members. The values form one scenario: an exam is booked for
 * a candidate, and a partner is notified of the booking.
 */
export const values = ({ account_code, partner: { partner_url } }: Surroundings): Record<string, unknown> => ({
  account_code,
  account_codes: [account_code],
  access_token: 'hT3kq0Qm6mS8m1v5pX2wZr9aYc4dLfJgNbVtUoEiKsA',
  refresh_token: 'Zr9aYc4dLfJgNbVtUoEiKsAhT3kq0Qm6mS8m1v5pX2w',
  expires_in: 3600,
  scope: 'create read',
  action: 'eligibility.create',
  active: true,
  actor: 'sandbox-operator',
  address1: '1 Main St',
  addresses: ['203.0.113.7'],
  application: 'Registration portal',
  because: ['CODE'],
  booking_code: BOOKING,
  booking_on: EXAM,
  candidate_fname: 'Ada',
  candidate_id: CANDIDATE,
  candidate_lname: 'Lovelace',
  candidate_name: 'Ada Lovelace',
  change_reason: 'BOOKING_CREATED',
  change_reasons: ['BOOKING_CREATED', 'BOOKING_CANCELLED'],
  record_changes: ['CREATED', 'RESULT_HELD'],
  expiring_days: [14, 3],
  city: 'New York',
  code: 'validation_error',
  consumer_key: 'K7MWQ2XA9PDRB7K2M9QX',
  consumer_secret: 'Yc4dLfJgNbVtUoEiKsAhT3kq0Qm6mS8m1v5pX2wZr9a',
  country: 'US',
  delivery_mode: 'SITE_PROCTORED',
  detail: 'The certificate is valid.',
  discount_value: 10,
  duration_ms: 84,
  effective_date: THEN,
  eligibility_end_date: END,
  eligible_to_schedule: true,
  email: 'ada@example.org',
  event_sequence: 1,
  exam_code: 'EXAM-ONE',
  exam_portions: [{ portion_code: 'MAIN', portion_name: 'Main' }],
  exp: 1801386000,
  iat: 1801382400,
  first_name: 'Ada',
  http_status: 200,
  issuer: 'CN=Example CA',
  iss: 'https://eligibility.example',
  last_name: 'Lovelace',
  launch_url: 'https://eligibility.example/launch/hT3kq0Qm6mS8m1v5pX2wZr9aYc4dLfJgNbVtUoEiKsA',
  location_address: '1 Main St, Springfield, IL',
  location_code: 'TC-042',
  location_name: 'Springfield Test Center',
  location_timezone: 'America/Chicago',
  matched: 1,
  name: 'Sandbox',
  organisation: false,
  p50_ms: 84,
  p95_ms: 210,
  partner_url,
  portion_codes: ['MAIN'],
  portion_code: 'MAIN',
  portion_name: 'Main',
  postal_code: '10001',
  protocol: 'TLSv1.3',
  province_state: 'NY',
  reason: 'The partner has mended its endpoint.',
  request_id: 'order-4711',
  scopes: ['read', 'create'],
  signing_secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  special_accommodations: [],
  status: 'ELIGIBLE',
  subject: RECORD,
  subscription_name: 'State Board',
  svc_eligiblity_id: RECORD,
  test_code: TEST,
  token_type: 'Bearer',
  trigger: 'FIRST',
  username: 'integration-user',
  voucher_codes: ['PERCENT-10'],
  ...Object.fromEntries(
    ['id', 'notification_id', 'subscription_id', 'job_id', 'resend_id', 'import_id'].map((name) => [name, UUID]),
  ),
});

export const INVENTED = {
  EligibilityModel: {},
  BookingModel: { status: 'BOOKED' },
  MetadataModel: {
    issuer: 'https://eligibility.example',
    token_endpoint: 'https://eligibility.example/token',
    revocation_endpoint: 'https://eligibility.example/revoke',
    introspection_endpoint: 'https://eligibility.example/introspect',
    grant_types_supported: ['password', 'refresh_token'],
    response_types_supported: [],
    scopes_supported: ['read', 'create'],
    service_documentation: 'https://eligibility.example/docs',
    ...Object.fromEntries(
      ['token', 'revocation', 'introspection'].map((name) => [
        `${name}_endpoint_auth_methods_supported`,
        ['client_secret_basic'],
      ]),
    ),
  },
  ChangeModel: {
    id: 'MTIzNDU2Nzg5MA',
    kind: 'BOOKING',
    change: 'SCHEDULED',
    status: 'SCHEDULED',
    revision: null,
  },
  NotificationModel: { state: 'DELIVERED', retry: null, failure: null, http_status: 200, delivered_datetime: THEN },
  NotificationDetail: { state: 'DELIVERED', retry: null, failure: null, http_status: 200, delivered_datetime: THEN },
  AttemptModel: { failure: null, reason: null, excerpt: null },
  CauseModel: {
    failure: 'client_error',
    reason: 'NO_MATCHING_RECORD',
    http_status: 400,
    retry: 'MANUAL',
    count: 1,
    next_booking_on: EXAM,
    next_location_timezone: 'America/Chicago',
  },
  SubscriptionModel: { state: 'ACTIVE', health: 'UP', auto_retry_on: [] },
  SubscriptionWithSecret: { state: 'UNVERIFIED', health: 'UP', auto_retry_on: [] },
  JobModel: { state: 'RUNNING', waiting: 1 },
  ResendModel: { state: 'RUNNING', waiting: 1 },
  ImportModel: { state: 'DONE', rows: 2, done: 2, created: 2, started: THEN, finished: THEN },
  ListedImportModel: { state: 'DONE', rows: 2, done: 2, created: 2, started: THEN, finished: THEN },
  AuditEntryModel: { id: 4711, changed: [] },
  AuditSealModel: { sealed_through: 4711, agrees: true, because: null, last_seal: null },
  LikelyExamModel: {},
  ErrorModel: {},
} satisfies Record<string, Record<string, unknown>>;

/**
 * Example values for the responses of single operations. They complete or replace the example values of the response's
 * model.
 */
export const OF_OPERATIONS: Record<string, Record<string, unknown>> = {
  'GET /admin/error-queue': {
    state: 'ERROR_QUEUE',
    retry: 'MANUAL',
    failure: 'client_error',
    http_status: 400,
    delivered_datetime: null,
  },
  'GET /admin/eligibilities': {
    status: 'PENDING',
    eligible_to_schedule: false,
    eligibility_status_message: 'An accommodation waits for approval.',
    approval_pending: true,
  },
  'POST /admin/subscriptions': { state: 'UNVERIFIED' },
  'GET /health/live': { status: 'ok' },
  'GET /health/ready': {
    status: 'ok',
    parts: { database: 'ok', migrations: 'ok', 'delivery loop': 'ok', deliveries: 'ok' },
  },
  'GET /health/ready 503': {
    status: 'unavailable',
    parts: { database: 'down', migrations: 'ok', 'delivery loop': 'ok' },
  },
  'GET /': {
    version,
    guide: 'https://eligibility.example/guide',
    documents: 'https://eligibility.example/docs',
    openapi: 'https://eligibility.example/openapi.json',
    problems: 'https://eligibility.example/problems',
    token_service: 'https://eligibility.example/.well-known/oauth-authorization-server',
    console: 'https://eligibility.example/console',
    health: 'https://eligibility.example/health/ready',
  },
  ...Object.fromEntries(
    ['GET /problems', 'GET /problems/{code}'].map((name) => [
      name,
      {
        code: 'candidate_not_found',
        status: 404,
        title: 'No such candidate',
        description: 'The account has never had an eligibility for this candidate.',
        remedy: null,
        members: [],
      },
    ]),
  ),
  'GET /.well-known/jwks.json': {
    keys: [
      {
        kty: 'EC',
        crv: 'P-256',
        use: 'sig',
        alg: 'ES256',
        kid: 'launch-1',
        x: 'f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU',
        y: 'x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0',
      },
    ],
  },
};

/** Examples of responses that are not JSON. */
export const TEXTS: Record<string, string> = {
  'text/html': '<!doctype html><html lang="en"><title>Candidate eligibility service</title><p>…</p></html>',
  'GET /accounts/{account_code}/eligibilities.csv': `svc_eligiblity_id,candidate_id,first_name,last_name,test_code\r\n${RECORD},${CANDIDATE},Ada,Lovelace,${TEST}\r\n`,
  'GET /accounts/{account_code}/eligibility-imports/{import_id}/report': `row,outcome,code,pointer,detail\r\n1,CREATED,,,\r\n2,REFUSED,required,/candidate/last_name,The value is required.\r\n`,
  'GET /admin/unmatched-results/{id}/raw': '{"examMetaData":',
  'GET /admin/events': 'event: change\ndata: {"what":"notifications"}\n\n',
};
