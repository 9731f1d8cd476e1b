/**
 * Shows the highest speed that Node.js and PostgreSQL allow. The program is a bare `node:http` server that uses a `pg`
 * pool and one prepared statement per request. It checks the token, reads or writes the same rows as the service, and
 * sends the same response. It has no framework, validation, log, security headers or error handling, and does not check
 * the codes in a request.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import pg from 'pg';
import type { Eligibility } from '../src/eligibility/eligibility.entity.js';
import { presentEligibility } from '../src/eligibility/eligibility-record.js';
import { insertChangesOf } from '../src/platform/changes/change-log.js';
import { formatDateTime, parseDateTime } from '../src/platform/clock.js';
import { randomCode, sha256 } from '../src/platform/secrets.js';
import { endWithOrchestrator, programOptions, tell } from './program.js';

export interface ServerOptions {
  databaseUrl: string;
  portionCode: string;
}

/**
 * SQL: finds the token $1. As in the service, the token must be valid and have the scope in `scope`, and its user must
 * have access to account $2.
 */
const CALLER = (scope: string) => `WITH caller AS (
  SELECT family.username FROM access_tokens token
  JOIN token_families family USING (family_id) JOIN users USING (username)
  JOIN applications application USING (consumer_key)
  JOIN user_accounts own ON own.username = family.username AND own.account_code = $2
  WHERE token.token_hash = $1 AND token.expires_at > clock_timestamp() AND '${scope}' = ANY (token.scopes)
    AND family.revoked_at IS NULL AND NOT users.disabled AND token.scopes <@ users.scopes
    AND NOT application.disabled AND token.scopes <@ application.scopes)`;

const CREATE = `${CALLER('create')},
  created AS (
    INSERT INTO eligibilities (account_code, svc_eligiblity_id, candidate_id, test_code, status, approval_pending,
      schedule_start_date, eligibility_end_date, registration_mode, portion_codes, first_name, middle_name, last_name,
      address1, city, province_state, postal_code, country, email, home_phone, school_code, special_accommodations,
      additional_attributes, created_datetime, updated_datetime)
    SELECT $2, $3, $4, $5, 'ELIGIBLE', false, $6::timestamptz, $7::timestamptz, $8, $9::text[], $10, $11, $12, $13, $14,
      $15, $16, $17, $18, $19, $20, $21::text[], $22::jsonb, $23::timestamptz, $23::timestamptz
    FROM caller ON CONFLICT DO NOTHING RETURNING *),
  audited AS (
    INSERT INTO audit_log (actor, action, subject)
    SELECT username, 'eligibility.create', svc_eligiblity_id FROM created, caller),
  told AS (${insertChangesOf(`
    SELECT created_datetime, 'ELIGIBILITY', 'CREATED', account_code, svc_eligiblity_id, candidate_id, test_code,
      NULL::text, status, NULL::int, NULL::int, NULL::json
    FROM created`)})
  SELECT svc_eligiblity_id FROM created`;

const READ = `${CALLER('read')}
  SELECT e.* FROM caller, eligibilities e
  WHERE e.account_code = $2 AND e.candidate_id = $3 AND e.test_code = $4 ORDER BY e.position DESC`;

const BODY = `json_strip_nulls(json_build_object('booking_code', $5::text, 'booking_on', $6::text, 'candidate_fname', first_name,
  'candidate_id', candidate_id, 'candidate_lname', last_name, 'candidate_mname', middle_name, 'change_reason',
  'BOOKING_CREATED', 'client_eligibility_id', client_eligibility_id, 'delivery_mode', $7::text, 'effective_date',
  to_char($12::timestamptz AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'exam_code', exam_code, 'exam_portions', portions,
  'location_address', $10::text, 'location_code', $8::text, 'location_name', $9::text, 'location_timezone', $11::text))`;

/** SQL: inserts one notification about a booking event for each partner. */
const NOTIFICATIONS = `kept AS (
    INSERT INTO domain_events (event_id, name, account_code, stream, sequence, data, occurred_at, claimed_until, settled_at)
    SELECT $13::uuid, 'booking.created', account_code, $5, 1, body, $12, $12, $12 FROM event),
  drawn AS MATERIALIZED (
    SELECT nextval('notifications_position_seq') AS place, s.id AS subscription_id, account_code, body
    FROM event JOIN subscriptions s USING (account_code)
    WHERE 'BOOKING_CREATED' = ANY (s.change_reasons) AND (s.state <> 'UNVERIFIED' OR s.suspended_datetime IS NOT NULL) AND s.deleted_datetime IS NULL),
  made AS (
    INSERT INTO notifications (position, id, event_id, subscription_id, account_code, change_reason, booking_code,
      event_sequence, effective_date, body, state)
    OVERRIDING SYSTEM VALUE
    SELECT place, gen_random_uuid(), $13, subscription_id, account_code, 'BOOKING_CREATED', $5, 1, $12, body::text, 'PENDING'
    FROM drawn),
  owed AS (
    INSERT INTO deliveries (subscription_id, notification_position, booking_code, event_sequence, trigger)
    SELECT subscription_id, place, $5, 1, 'FIRST' FROM drawn RETURNING 1)`;

/** SQL: writes a booking, and the notifications about the booking's event. */
const BOOK = `${CALLER('bookings')},
  record AS MATERIALIZED (
    SELECT e.*, t.exam_code,
      (SELECT json_agg(json_build_object('portion_code', portion_code, 'portion_name', portion_name))
       FROM test_portions p WHERE p.account_code = e.account_code AND p.test_code = e.test_code
         AND p.portion_code = ANY (e.portion_codes)) AS portions
    FROM caller, eligibilities e JOIN tests t USING (account_code, test_code)
    WHERE e.account_code = $2 AND e.candidate_id = $3 AND e.test_code = $4 AND e.status = 'ELIGIBLE' FOR UPDATE OF e),
  event AS MATERIALIZED (SELECT *, ${BODY} AS body FROM record),
  scheduled AS (
    UPDATE eligibilities e SET status = 'SCHEDULED', booking_code = $5, booking_on = $6::timestamptz, updated_datetime = $12
    FROM record WHERE e.svc_eligiblity_id = record.svc_eligiblity_id),
  booked AS (
    INSERT INTO bookings (booking_code, svc_eligiblity_id, account_code, candidate_id, test_code, status, booking_on,
      delivery_mode, location_code, location_name, location_address, location_timezone, event_sequence,
      created_datetime, updated_datetime)
    SELECT $5, svc_eligiblity_id, account_code, candidate_id, test_code, 'BOOKED', $6::timestamptz, $7, $8, $9, $10, $11, 1,
      $12, $12 FROM record),
  audited AS (INSERT INTO audit_log (actor, action, subject) SELECT username, 'booking.create', $5 FROM record, caller),
  told AS (${insertChangesOf(`
    SELECT $12::timestamptz, 'BOOKING', 'SCHEDULED', account_code, svc_eligiblity_id, candidate_id, test_code, $5::text,
      'SCHEDULED', NULL::int, 1, body
    FROM event`)}),
  ${NOTIFICATIONS}
  SELECT svc_eligiblity_id, (SELECT count(*) FROM owed) AS owed FROM record`;

async function bodyOf(request: IncomingMessage): Promise<Record<string, any>> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString()) as Record<string, any>;
}

async function book(pool: pg.Pool, request: IncomingMessage): Promise<object | null> {
  const [, , account, , candidate_id, , test_code] = request.url!.split('/');
  const body = await bodyOf(request);
  const booking_code = randomCode(10);
  const now = new Date();
  const where = [body.location_code, body.location_name, body.location_address, body.location_timezone];
  const { rows } = await pool.query<{ svc_eligiblity_id: string }>({
    name: 'book',
    text: BOOK,
    values: [
      tokenHash(request),
      account,
      candidate_id,
      test_code,
      booking_code,
      body.booking_on,
      body.delivery_mode,
      ...where,
      now,
      randomUUID(),
    ],
  });
  if (rows.length === 0) return null;
  const { booking_on, delivery_mode, location_code, location_name, location_address, location_timezone } = body;
  return {
    booking_code,
    svc_eligiblity_id: rows[0].svc_eligiblity_id,
    candidate_id,
    test_code,
    status: 'BOOKED',
    booking_on,
    delivery_mode,
    location_code,
    location_name,
    location_address,
    location_timezone,
    created_datetime: formatDateTime(now),
    updated_datetime: formatDateTime(now),
  };
}

async function create(pool: pg.Pool, request: IncomingMessage, portion: string): Promise<object | null> {
  const body = await bodyOf(request);
  const record = recordOf(request.url!.split('/')[2], body, portion);
  const { rowCount } = await pool.query({
    name: 'create',
    text: CREATE,
    values: [
      tokenHash(request),
      record.account_code,
      record.svc_eligiblity_id,
      record.candidate_id,
      record.test_code,
      record.schedule_start_date,
      record.eligibility_end_date,
      record.registration_mode,
      record.portion_codes,
      record.first_name,
      record.middle_name,
      record.last_name,
      record.address1,
      record.city,
      record.province_state,
      record.postal_code,
      record.country,
      record.email,
      record.home_phone,
      record.school_code,
      record.special_accommodations,
      JSON.stringify(record.additional_attributes),
      record.created_datetime,
    ],
  });
  return rowCount === 1 ? presentEligibility(record, record.created_datetime) : null;
}

function recordOf(accountCode: string, body: Record<string, any>, portion: string): Eligibility {
  return {
    ...(body['candidate'] as Eligibility),
    account_code: accountCode,
    svc_eligiblity_id: randomCode(8),
    test_code: body['test_code'],
    client_eligibility_id: null,
    status: 'ELIGIBLE',
    schedule_start_date: parseDateTime(body['schedule_start_date']),
    eligibility_end_date: parseDateTime(body['eligibility_end_date']),
    registration_mode: body['registration_mode'],
    portion_codes: [portion],
    suffix: null,
    address2: null,
    office_phone: null,
    created_datetime: new Date(),
  };
}

async function read(pool: pg.Pool, request: IncomingMessage): Promise<object | null> {
  const [, , account, , candidate, , test] = request.url!.split('/');
  const { rows } = await pool.query<Eligibility>({
    name: 'read',
    text: READ,
    values: [tokenHash(request), account, candidate, test],
  });
  const now = new Date();
  return rows.length > 0 ? rows.map((row) => presentEligibility(row, now)) : null;
}

function tokenHash(request: IncomingMessage): Buffer {
  return sha256(request.headers.authorization!.slice('Bearer '.length));
}

function send(response: ServerResponse, answer: object | null): void {
  const text = JSON.stringify(answer);
  response.writeHead(answer === null ? 500 : 200, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}

function main({ databaseUrl, portionCode }: ServerOptions): void {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 10 });
  const answerOf = (request: IncomingMessage): Promise<object | null> => {
    if (request.method === 'GET') return read(pool, request);
    return request.url!.endsWith('/bookings') ? book(pool, request) : create(pool, request, portionCode);
  };
  const server = createServer((request, response) => {
    answerOf(request).then(
      (value) => send(response, value),
      () => send(response, null),
    );
  });
  server.listen(0, '127.0.0.1', () =>
    tell({ ready: { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` } }),
  );
}

endWithOrchestrator();
main(programOptions<ServerOptions>());
