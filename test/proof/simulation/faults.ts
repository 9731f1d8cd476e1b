import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A fault for the simulation: when the file is loaded, a condition is removed from the delivery code. */
interface Planted {
  readonly name: string;
  /** The path of the compiled file, below `src`, in which the fault is planted. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

const DELIVERY = 'notifications/delivery';
const STATEMENTS = `${DELIVERY}/delivery-statements.js`;
const LEASE = `${DELIVERY}/delivery-lease.js`;
const POLL_STATEMENTS = `${DELIVERY}/poll-statements.js`;
const JOB_STATEMENTS = `${DELIVERY}/job-statements.js`;

export const PLANTED: readonly Planted[] = [
  {
    name: 'a claim does not wait for an attempt under way',
    file: STATEMENTS,
    find: "NOT ${(0, delivery_lease_js_1.hasExpired)('other.leased_until', trust, seconds)}",
    replace: 'false',
  },
  {
    name: 'a claim does not look at earlier events',
    file: STATEMENTS,
    find: "ELSE ${BY_OPERATOR('other')} OR other.event_sequence < d.event_sequence END",
    replace: 'ELSE false END',
  },
  {
    name: 'every row counts as unclaimed',
    file: LEASE,
    find: 'd.leased_until < ${database_js_1.MACHINE_TIME}',
    replace: 'true',
  },
  {
    name: 'a lease is shorter than the wait time',
    file: LEASE,
    find: 'LEASE_END = `${database_js_1.MACHINE_TIME} + make_interval(secs => ${exports.LEASE_S})`',
    replace: 'LEASE_END = `${database_js_1.MACHINE_TIME} + make_interval(secs => s.wait_ms / 1000000.0)`',
  },
  {
    name: 'an attempt begins at any age',
    file: LEASE,
    find: 'MAY_START_MS = 12_000',
    replace: 'MAY_START_MS = 12_000_000',
  },
  {
    name: 'a claim ignores a suspension',
    file: STATEMENTS,
    find: "WHERE s.id = wanted.id AND s.state = 'ACTIVE' AND s.deleted_datetime IS NULL",
    replace: 'WHERE s.id = wanted.id AND s.deleted_datetime IS NULL',
  },
  {
    name: 'a release does not check the token',
    file: STATEMENTS,
    find: ' AND d.lease_token = o.token\n     RETURNING d.job_id, d.notification_position)',
    replace: '\n     RETURNING d.job_id, d.notification_position)',
  },
  {
    name: 'no process looks for abandoned notifications',
    file: STATEMENTS,
    find: "WHERE s.state = 'ACTIVE' AND s.deleted_datetime IS NULL AND ${pace_statements_js_1.MAY_BE_ASKED} AND (s.health = 'UP'",
    replace: "WHERE false AND (s.health = 'UP'",
  },
  {
    name: 'events that were not published are forgotten',
    file: 'platform/events/outbox.js',
    find: "AND ${(0, database_js_1.hasLapsed)('claimed_until', CLAIM_SECONDS)}",
    replace: 'AND false',
  },
  {
    name: 'an attempt begins after its claim was released',
    file: `${DELIVERY}/attempts-under-way.js`,
    find: "if (item.progress === 'REVOKED' || ",
    replace: 'if (',
  },
  {
    name: 'a bulk job takes notifications that are under way',
    file: JOB_STATEMENTS,
    find: 'const delivery_lease_js_1 = require("./delivery-lease.js")',
    replace: "const delivery_lease_js_1 = { FREE: 'true' }",
  },
  {
    name: 'no item of a job is a probe',
    file: JOB_STATEMENTS,
    find: 'AND ${delivery_statements_js_1.PROBE_IS_DUE} AND NOT EXISTS',
    replace: 'AND false AND NOT EXISTS',
  },
  {
    name: 'a claim does not look at earlier events of a record',
    file: STATEMENTS,
    // The id of a record has eight characters, and the code of a booking has ten. This fault therefore affects only
    // records: it ignores earlier events only if the id or code has eight characters.
    find: "ELSE ${BY_OPERATOR('other')} OR other.event_sequence < d.event_sequence END",
    replace:
      "ELSE ${BY_OPERATOR('other')} OR other.event_sequence < d.event_sequence AND length(d.booking_code) > 8 END",
  },
  {
    name: 'events of records are not translated',
    file: 'notifications/notifications.saga.js',
    find: 'event instanceof bookings_events_js_1.BookingEvent || event instanceof record_event_js_1.RecordEvent)',
    replace: 'event instanceof bookings_events_js_1.BookingEvent)',
  },
  {
    name: 'two decisions about a record do not wait for each other',
    file: 'eligibility/eligibility-store.js',
    find: 'AND ($2::text[] IS NULL OR e.account_code = ANY ($2)) FOR UPDATE OF e`',
    replace: 'AND ($2::text[] IS NULL OR e.account_code = ANY ($2))`',
  },
  {
    name: 'an acknowledgement counts after its lease',
    file: POLL_STATEMENTS,
    find: " AND NOT ${(0, delivery_lease_js_1.hasExpired)('d.leased_until', [4, 5], 'o.lease_s')}",
    replace: ' AND $4::float8 + $5::float8 IS NOT NULL',
  },
  {
    name: 'any caller may acknowledge',
    file: POLL_STATEMENTS,
    find: ' AND o.caller = $2',
    replace: ' AND $2::text IS NOT NULL',
  },
  {
    name: 'a poll takes notifications that are leased',
    file: POLL_STATEMENTS,
    find: '${(0, delivery_lease_js_1.freeFor)([6, 7], LONGEST_LEASE_S)} AND ',
    replace: '',
  },
  {
    name: 'a change to POLL does not wait for claims',
    file: 'notifications/subscriptions/subscriptions.handlers.js',
    find: 'if (beganPolling || ',
    replace: 'if (',
  },
  {
    name: 'a poll ignores a suspension',
    file: POLL_STATEMENTS,
    find: "s.delivery = 'POLL' AND s.state = 'ACTIVE' AND s.deleted_datetime IS NULL",
    replace: "s.delivery = 'POLL' AND s.deleted_datetime IS NULL",
  },
  {
    name: 'a change to PUSH does not end polls',
    file: POLL_STATEMENTS,
    find: "s.delivery = 'POLL' AND s.state = 'ACTIVE' AND s.deleted_datetime IS NULL",
    replace: "s.state = 'ACTIVE' AND s.deleted_datetime IS NULL",
  },
];

/**
 * Plants the fault with the given name in the compiled code.
 * @throws Error when the code has changed and the fault no longer applies; update the list of faults in this case
 */
export function plant(name: string): void {
  const fault = PLANTED.find((planted) => planted.name === name);
  if (fault === undefined) throw new Error(`There is no fault "${name}".`);
  const file = join(__dirname, '../../../src', fault.file);
  const source = readFileSync(file, 'utf8');
  if (source.split(fault.find).length !== 2) throw new Error(`"${name}" does not fit into ${fault.file} any more.`);
  const { extensions } = createRequire(__filename);
  const load = extensions['.js'];
  extensions['.js'] = (module, filename) => {
    if (filename !== file) return load(module, filename);
    const compiled = module as NodeJS.Module & { _compile(text: string, name: string): void };
    compiled._compile(source.replace(fault.find, fault.replace), filename);
  };
}
