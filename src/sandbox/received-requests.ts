import type { IncomingHttpHeaders } from 'node:http';
import { Injectable } from '@nestjs/common';
import { Database, prepared } from '../platform/database/database.js';
import { PersonalData, PersonalDataHolders, type Subject } from '../platform/personal-data.js';

/**
 * The number of requests to the sandbox's partner that are kept, and the number that are listed. More requests are kept
 * than listed, so that the requests of one booking remain when other bookings have many requests.
 */
const MOST_KEPT = 1_000;
const MOST_LISTED = 100;

/**
 * SQL that creates the table of received requests in the schema of the clock (clock-schema.ts). With this table, every
 * process of the sandbox can show the requests that any process has received.
 */
export const RECEIVED_SCHEMA = [
  `CREATE SEQUENCE IF NOT EXISTS sandbox.received_number`,
  `CREATE TABLE IF NOT EXISTS sandbox.received (slot int PRIMARY KEY, number bigint NOT NULL, received_datetime timestamptz NOT NULL,
     method text NOT NULL, path text NOT NULL, headers jsonb NOT NULL, body text NOT NULL, booking_code text)`,
  // Release 1.0.0 created the table without the svc_eligiblity_id column.
  `ALTER TABLE sandbox.received ADD COLUMN IF NOT EXISTS svc_eligiblity_id text`,
];

const ADD = prepared(
  'sandbox-received-add',
  `INSERT INTO sandbox.received
   SELECT number % ${MOST_KEPT}, number, now(), $1, $2, $3, $4, $5, $6 FROM nextval('sandbox.received_number') AS number
   ON CONFLICT (slot) DO UPDATE SET number = excluded.number, received_datetime = excluded.received_datetime,
     method = excluded.method, path = excluded.path, headers = excluded.headers, body = excluded.body,
     booking_code = excluded.booking_code, svc_eligiblity_id = excluded.svc_eligiblity_id`,
);
const LIST = prepared(
  'sandbox-received-list',
  `SELECT received_datetime, method, path, headers, body FROM sandbox.received
   WHERE $1::text IS NULL OR booking_code = $1 ORDER BY number DESC LIMIT ${MOST_LISTED}`,
);

/**
 * The SQL condition for requests about the bookings $1 or the eligibilities $2. Some requests about an eligibility
 * contain no booking code.
 */
const OF_CANDIDATE = 'booking_code = ANY ($1::text[]) OR svc_eligiblity_id = ANY ($2::text[])';
const FIND_OF_CANDIDATE = prepared(
  'sandbox-received-of-candidate',
  `SELECT received_datetime, method, path, headers, body FROM sandbox.received WHERE ${OF_CANDIDATE} ORDER BY number`,
);
const FORGET = prepared('sandbox-received-forget', `DELETE FROM sandbox.received WHERE ${OF_CANDIDATE}`);

export interface ReceivedRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  /** The body of the request, exactly as it was received. */
  body: string;
}

/** Stores the latest requests that the sandbox's own partner has received. */
@Injectable()
export class ReceivedRequests extends PersonalData {
  constructor(
    private readonly database: Database,
    holders: PersonalDataHolders,
  ) {
    super();
    holders.register(this);
  }

  async add({ method, path, headers, body }: ReceivedRequest): Promise<void> {
    // NUL characters are removed, because PostgreSQL's type `text` cannot contain them.
    const text = body.replaceAll('\0', '');
    const { booking_code, svc_eligiblity_id } = codesOf(body);
    await this.database.execute(ADD, [method, path, JSON.stringify(headers), text, booking_code, svc_eligiblity_id]);
  }

  /**
   * Returns the requests that the sandbox's partner has received, newest first.
   * @param bookingCode limits the list to requests about this booking; null for all requests
   */
  list(bookingCode: string | null): Promise<(ReceivedRequest & { received_datetime: Date })[]> {
    return this.database.query(LIST, [bookingCode]);
  }

  async export({ bookingCodes, svcEligibilityIds }: Subject): Promise<Record<string, unknown>> {
    return { sandbox_received: await this.database.query(FIND_OF_CANDIDATE, [bookingCodes, svcEligibilityIds]) };
  }

  async erase({ bookingCodes, svcEligibilityIds }: Subject): Promise<void> {
    await this.database.execute(FORGET, [bookingCodes, svcEligibilityIds]);
  }
}

/** Returns the booking code and the eligibility id in the body of a request; null for a value that the body lacks. */
function codesOf(body: string): Record<'booking_code' | 'svc_eligiblity_id', string | null> {
  const { booking_code, svc_eligiblity_id } = membersOf(body);
  const orNull = (code: unknown) => (typeof code === 'string' ? code : null);
  return { booking_code: orNull(booking_code), svc_eligiblity_id: orNull(svc_eligiblity_id) };
}

function membersOf(body: string): Record<string, unknown> {
  try {
    return (JSON.parse(body) as Record<string, unknown> | null) ?? {};
  } catch {
    return {};
  }
}
