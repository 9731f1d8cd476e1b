import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { ProcessConfig } from '../platform/process.config.js';

/**
 * The names that the examples of the OpenAPI document contain. They are the names in the sandbox, so the examples work
 * unchanged in the sandbox.
 */
export interface Surroundings {
  account_code: string;
  partner: { partner_url: string; ca_pem?: string };
  /**
   * For each operation, the values of parameters and members that its examples need in order to work. The values under
   * `*` apply to all operations (src/sandbox/sandbox-examples.ts).
   */
  examples?: Record<string, Record<string, string>>;
}

export const ANYWHERE: Surroundings = {
  account_code: 'K7MWQ2XA9PDR',
  partner: { partner_url: 'https://partner.example/hooks' },
};

/** Returns the names for the examples; null if the sandbox has not yet written the file with its names. */
export function surroundingsOf(config: ProcessConfig): Surroundings | null {
  if (!config.sandbox) return ANYWHERE;
  const file = join(config.dataDir, 'sandbox.json');
  return existsSync(file)
    ? { ...ANYWHERE, ...(JSON.parse(readFileSync(file, 'utf8')) as Partial<Surroundings>) }
    : null;
}

/** A date in the far future, so that the examples stay valid. */
export const END = '2099-12-31T23:59:59Z';
export const EXAM = '2098-06-15T14:00:00Z';
export const CANDIDATE = 'C-1001';
export const TEST = 'SANDBOX-ONE';
/** Placeholders for generated ids in the examples. Users replace the placeholders with ids from responses. */
export const UUID = '0196f2a4-7c1e-7d3b-9a55-3f0c2b8d6e41';
export const BOOKING = 'B7K2M9QX4T';

const eligibility = (changes: object = {}) => ({
  test_code: TEST,
  eligibility_end_date: END,
  candidate: {
    candidate_id: CANDIDATE,
    first_name: 'Ada',
    last_name: 'Lovelace',
    email: 'ada@example.org',
    country: 'US',
    province_state: 'NY',
  },
  ...changes,
});
const booking = (booking_on: string) => ({
  booking_on,
  delivery_mode: 'SITE_PROCTORED',
  location_code: 'TC-042',
  location_name: 'Springfield Test Center',
  location_address: '1 Main St, Springfield, IL',
  location_timezone: 'America/Chicago',
});
const ofAccount = '/accounts/{account_code}';
const ofTest = `${ofAccount}/candidates/{candidate_id}/tests/{test_code}`;
const inCatalogue = '/admin/accounts/{account_code}';
const reason = 'The partner has mended its endpoint.';

const bodies = ({ account_code, partner: { partner_url, ca_pem } }: Surroundings): Record<string, unknown> => ({
  'POST /token': { grant_type: 'password', username: 'sandbox-client', password: 'the password of the user' },
  'POST /console/session': { username: 'sandbox-operator', password: 'the password of the user' },
  'POST /revoke': { token: 'the token' },
  'POST /introspect': { token: 'the token' },
  [`POST ${ofAccount}/candidates`]: eligibility(),
  [`PUT ${ofTest}`]: eligibility({ registration_mode: 'Online' }),
  [`PUT ${ofTest}/vouchers`]: ['PERCENT-10'],
  [`POST ${ofTest}/bookings`]: booking(EXAM),
  [`PUT ${ofAccount}/bookings/{booking_code}`]: booking('2098-06-16T14:00:00Z'),
  [`POST ${ofAccount}/bookings/{booking_code}/absence`]: { excused: true },
  'POST /registrations/registration/results': {
    examMetaData: { examCode: TEST, extRecordLocator: 'LOC-0001', simulatedExam: false },
    examTakerEmail: 'ada@example.org',
    examTakerFirstName: 'Ada',
    examTakerLastName: 'Lovelace',
    examDate: '2098-06-15',
    examProcessingStatus: 'Completed',
    overAllComments: 'Nothing remarkable.',
  },
  [`PUT ${ofAccount}`]: {
    candidate_id: CANDIDATE,
    result_id: 'R-0001',
    result: 'PASS',
    overall_score_pct: '87',
    overall_score_scaled: 540,
  },
  [`POST ${ofAccount}/eligibility-imports`]: {
    'text/csv': `candidate_id,first_name,last_name,test_code,eligibility_end_date\nC-2001,Grace,Hopper,${TEST},${END}\n`,
    'application/x-ndjson':
      JSON.stringify(eligibility({ candidate: { candidate_id: 'C-2002', first_name: 'Alan', last_name: 'Turing' } })) +
      '\n',
  },
  'POST /admin/subscriptions': { account_code, partner_url, ...(ca_pem === undefined ? {} : { ca_pem }) },
  'PATCH /admin/subscriptions/{id}': {
    change_reasons: ['BOOKING_CREATED', 'BOOKING_CANCELLED'],
    record_changes: ['CREATED', 'RESULT_HELD'],
    wait_ms: 5000,
  },
  'POST /admin/subscriptions/{id}/sample': { change_reason: 'BOOKING_RESCHEDULED' },
  'PUT /admin/alerts/{name}': {
    kind: 'WEBHOOK',
    url: 'https://chat.example/hooks/on-call',
    conditions: ['PARTNER_DOWN', 'EXAM_SOON_UNDELIVERED'],
  },
  'POST /partner/notifications/poll': { max: 20, return_immediately: true, ack: [UUID] },
  'POST /admin/notifications/replay': { subscription_id: UUID, filter: { change_reason: 'BOOKING_CREATED' }, reason },
  'POST /partner/notifications/replay': { booking_code: BOOKING },
  'POST /partner/notifications/{id}/resend': { reason },
  'POST /admin/error-queue/{notification_id}/resend': { reason },
  'POST /admin/error-queue/{notification_id}/resolve': { reason: 'Entered by hand.' },
  'POST /admin/error-queue/resend': {
    filter: { account_code, failure: 'client_error', booking_code: BOOKING },
    reason,
  },
  'POST /admin/error-queue/resolve': {
    filter: { account_code, failure: 'client_error', booking_code: BOOKING },
    reason: 'Entered by hand.',
  },
  'POST /admin/users': {
    username: 'integration-user',
    password: 'Quiet-Harbor-7-Lanterns',
    account_codes: [account_code],
    scopes: ['read', 'create'],
  },
  'PUT /admin/users/{username}': { scopes: ['read', 'create', 'update'] },
  'POST /admin/applications': { name: 'Registration portal', scopes: ['read', 'create'] },
  'PUT /admin/applications/{consumer_key}': { scopes: ['read', 'create', 'update'] },
  'POST /admin/accounts': { name: 'State Board of Nursing' },
  'PUT /admin/accounts/{account_code}': { name: 'Sandbox', photo_retention_days: 365, expiring_days: [14, 3] },
  [`PUT ${inCatalogue}/tests/{test_code}`]: {
    name: 'A test of one portion',
    exam_code: 'EXAM-ONE',
    launch_url: 'https://test-driver.example/launch',
    duration_minutes: 90,
    portions: [{ portion_code: 'MAIN', portion_name: 'Main' }],
  },
  [`PUT ${inCatalogue}/schools/{code}`]: { name: 'Sandbox School' },
  [`PUT ${inCatalogue}/accommodations/{code}`]: { name: 'Large print', requires_approval: false },
  [`PUT ${inCatalogue}/attribute-keys/{code}`]: { name: 'Cohort' },
  [`PUT ${inCatalogue}/vouchers/{code}`]: { discount_type: 'PERCENT', discount_value: 10, max_uses: 1000 },
  'POST /admin/eligibilities/{svc_id}/hold': { reason: 'The identity is being checked.' },
  'POST /admin/eligibilities/{svc_id}/decline-accommodations': { reason: 'The documents were not handed in.' },
  'POST /admin/eligibilities/{svc_id}/result/hold': { reason: 'The proctor reported a disturbance.' },
  'POST /admin/eligibilities/{svc_id}/result/release': { reason: 'The report was checked.' },
  'POST /admin/eligibilities/{svc_id}/result/revoke': { reason: 'Another person sat the exam.' },
  'POST /admin/unmatched-results/{id}/reject': { reason: 'A rehearsal that nobody booked.' },
  'POST /admin/unmatched-results/{id}/accept': { booking_code: BOOKING },
  [`POST ${inCatalogue}/candidates/{candidate_id}/erase`]: { reason: 'Asked for by the candidate.' },
  'POST /admin/jobs/{job_id}/unmatched-results/erase': { unmatched_results: [] },
  'POST /sandbox/clock': { advance_s: 60 },
  'POST /sandbox/events': { booking_code: BOOKING, change_reason: 'BOOKING_RESCHEDULED' },
});

/** Example values of the `code` path parameter. The keys are the path segments before the parameter. */
const CODES: Record<string, string> = {
  problems: 'validation_error',
  schools: 'SCHOOL-1',
  accommodations: 'LARGE-PRINT',
  'attribute-keys': 'cohort',
  vouchers: 'PERCENT-10',
  'unmatched-results': BOOKING,
};

const parameters = ({ account_code, examples }: Surroundings, path: string, name: string): Record<string, unknown> => ({
  'Console-Request': '1',
  account_code,
  name: 'on-call',
  candidate_id: CANDIDATE,
  test_code: TEST,
  booking_code: BOOKING,
  svc_id: 'K7MWQ2XA',
  svc_eligibility_code: 'K7MWQ2XA',
  waiting_for: 'APPROVAL',
  revision: '1',
  status: 'active',
  q: CANDIDATE,
  username: 'integration-user',
  consumer_key: 'K7MWQ2XA9PDRB7K2M9QX',
  launch_code: 'hT3kq0Qm6mS8m1v5pX2wZr9aYc4dLfJgNbVtUoEiKsA',
  from: '2026-11-01T00:00:00Z',
  to: '2026-11-02T00:00:00Z',
  code: CODES[Object.keys(CODES).find((place) => path.includes(`/${place}/`)) ?? ''],
  ...Object.fromEntries(
    ['id', 'notification_id', 'subscription_id', 'resend_id', 'job_id', 'import_id'].map((name) => [name, UUID]),
  ),
  ...examples?.['*'],
  ...examples?.[name],
});

/** Replaces the values of the members that `values` names, at any depth of an example body. */
function withValues(example: unknown, values: Record<string, string>): unknown {
  if (typeof example !== 'object' || example === null) return example;
  if (Array.isArray(example)) return example.map((item) => withValues(item, values));
  return Object.fromEntries(
    Object.entries(example).map(([member, value]) => [member, values[member] ?? withValues(value, values)]),
  );
}

interface Operation {
  requestBody?: { content: Record<string, { example?: unknown }> };
  parameters?: { name: string; in: string; required?: boolean; example?: unknown; schema?: { example?: unknown } }[];
}

/**
 * Adds an example to every request body and every required parameter. Optional parameters get no example, because
 * Swagger UI would send the example, and the resulting filter would match nothing.
 */
export function addExamples(document: OpenAPIObject, surroundings: Surroundings): void {
  const examples = bodies(surroundings);
  for (const [path, item] of Object.entries(document.paths))
    for (const [method, operation] of Object.entries(item) as [string, Operation][]) {
      const name = `${method.toUpperCase()} ${path}`;
      const example = withValues(examples[name], surroundings.examples?.[name] ?? {});
      const { content = {} } = operation.requestBody ?? {};
      const isOneOfSeveral = Object.keys(content).length > 1;
      for (const [type, media] of Object.entries(content))
        media.example = isOneOfSeveral ? (example as Record<string, unknown> | undefined)?.[type] : example;
      const ofPath = parameters(surroundings, path, name);
      for (const parameter of operation.parameters ?? []) {
        delete parameter.schema?.example;
        delete parameter.example;
        if (parameter.required) parameter.example = ofPath[parameter.name];
      }
    }
}
