/**
 * The ceiling: what Node and PostgreSQL can do at all. A bare `node:http` server over a `pg` pool, one prepared statement
 * a request, which checks the token and writes or reads the same rows, with the same answer. No framework, validation,
 * log, security headers, catalogue check or error handling.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import pg from 'pg';
import type { Eligibility } from '../src/eligibility/eligibility.entity.js';
import { presentEligibility } from '../src/eligibility/eligibility-record.js';
import { insertChangesOf } from '../src/platform/changes/change-log.js';
import { parseDateTime } from '../src/platform/clock.js';
import { randomCode, sha256 } from '../src/platform/secrets.js';
import { endWithOrchestrator, programOptions, tell } from './program.js';

export interface ServerOptions {
  databaseUrl: string;
  portionCode: string;
}

/** The valid token $1 with scope `scope` and account $2: the rule of the service. */
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

async function create(pool: pg.Pool, request: IncomingMessage, portion: string): Promise<object | null> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const body = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, any>;
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
  const server = createServer((request, response) => {
    const answer = request.method === 'POST' ? create(pool, request, portionCode) : read(pool, request);
    answer.then(
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
