import { Injectable } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import type { RetakePolicy } from '../accounts/accounts.commands.js';
import { insertChangesOf } from '../platform/changes/change-log.js';
import { nobodyListens, tellingChanges } from '../platform/changes/record-event.js';
import { requestContext } from '../platform/context/request-context.js';
import { Batched, numbered } from '../platform/database/batched.js';
import { currentTransaction, Database, prepared, violatedConstraint } from '../platform/database/database.js';
import type { EventRow } from '../platform/events/outbox.js';
import { validationError, type DomainError } from '../platform/errors.js';
import { Secrets } from '../platform/secrets.js';
import { UnitOfWork } from '../platform/unit-of-work/unit-of-work.js';
import { ReleaseVouchers } from '../vouchers/vouchers.commands.js';
import { WRITTEN, type NewEligibility } from './eligibility.columns.js';
import type { Eligibility } from './eligibility.entity.js';
import type { Creation } from './eligibility.commands.js';
import { clientEligibilityIdInUse, duplicateEligibility } from './eligibility.errors.js';
import { EligibilityCreated } from './eligibility.events.js';
import { LIVE } from './eligibility.fields.js';
import { assertRetakeAllowed, type Attempt } from './retake.rules.js';
import { lockOpen, noteExpiry } from './expiry-sweep.js';

const ID_LENGTH = 8;
const ATTEMPTS = 5;

const COLUMNS = Object.keys(WRITTEN).join(', ');
const TYPED = Object.entries(WRITTEN).map(([column, type]) => `${column} ${type}`);

const CREATED = `WITH asked AS MATERIALIZED (
    SELECT * FROM json_to_recordset($1) AS asked (n int, actor text, application text, request_id text, traceparent text,
      retake jsonb, ${TYPED.join(', ')})),
  created AS (
    INSERT INTO eligibilities (${COLUMNS}) SELECT ${COLUMNS} FROM asked WHERE `;
const RECORDED = `
    ORDER BY account_code, candidate_id, test_code
    ON CONFLICT DO NOTHING RETURNING *),
  audited AS (
    INSERT INTO audit_log (actor, application, account_code, action, subject, request_id)
    SELECT actor, application, created.account_code, 'eligibility.create', svc_eligiblity_id, request_id
    FROM created JOIN asked USING (svc_eligiblity_id)), `;
const CHANGES = `
  SELECT created_datetime, 'ELIGIBILITY', '${EligibilityCreated.change}', account_code, svc_eligiblity_id, candidate_id,
    test_code, NULL::text, status, NULL::int, NULL::int, NULL::json
  FROM created`;

/** Returns the statement that creates the records for which the SQL condition holds, and raises their events. */
const createdAndTold = (condition: string, answer: string): string => `${CREATED} ${condition} ${RECORDED}
  ${tellingChanges(
    CHANGES,
    '(SELECT asked.traceparent FROM asked WHERE asked.svc_eligiblity_id = numbered.stream)',
    true,
  )}
  SELECT n, ${answer}, CASE WHEN told.stream IS NOT NULL THEN row_to_json(told) END AS told
  FROM created JOIN asked USING (svc_eligiblity_id) LEFT JOIN told ON told.stream = svc_eligiblity_id`;

/** Returns the statement that creates records without events. The statement skips accounts that have subscriptions. */
const createdUnheard = (
  condition: string,
): string => `${CREATED} ${nobodyListens('asked.account_code')} AND ${condition}
  ${RECORDED} changed AS (${insertChangesOf(CHANGES)})
  SELECT n, created.*, NULL::json AS told FROM created JOIN asked USING (svc_eligiblity_id)`;

// The SQL condition of the usual case, in which no other record blocks the creation. The fixed order of insertion
// prevents deadlocks. EXISTS is avoided, because PostgreSQL would plan to read the whole table if it has few expired
// records, and keep that plan. The ORDER BY is the order of the index on a candidate's records, so that no other index
// is chosen. If the test has a retake policy, every record of the candidate for the test blocks the creation, because
// the record may be an attempt, or may become an attempt now.
const UNOBSTRUCTED = `NOT 'EXPIRED' = ANY (ARRAY(
  SELECT CASE WHEN e.test_code <> asked.test_code THEN '' WHEN asked.retake IS NOT NULL THEN 'EXPIRED' ELSE e.status END
  FROM eligibilities e
  WHERE e.account_code = asked.account_code AND e.candidate_id = asked.candidate_id ORDER BY e.test_code, e.position DESC))`;
const CREATE_UNHEARD = prepared('eligibility-create-unheard', createdUnheard(UNOBSTRUCTED));
const CREATE = prepared('eligibility-create', createdAndTold(UNOBSTRUCTED, 'created.*'));
const CREATE_MANY = prepared('eligibility-create-many', createdAndTold(UNOBSTRUCTED, 'svc_eligiblity_id AS created'));
const CREATE_AFTER_EXPIRED = prepared('eligibility-create-after-expired', createdAndTold('true', 'created.*'));

// Locks the candidate's open record for the test if its window is over, because the new record replaces it.
const LOCK_OVER = prepared(
  'eligibility-lock-giving-way',
  lockOpen('account_code = $1 AND candidate_id = $2 AND test_code = $3 AND eligibility_end_date <= $4'),
);
const FIND_EXPIRED = prepared(
  'eligibility-find-expired',
  `SELECT svc_eligiblity_id FROM eligibilities
   WHERE account_code = $1 AND candidate_id = $2 AND test_code = $3 AND status = 'EXPIRED' ORDER BY position`,
);

const LOCK_ATTEMPTS = prepared(
  'eligibility-lock-attempts',
  `SELECT status, last_event_at FROM eligibilities WHERE account_code = $1 AND candidate_id = $2 AND test_code = $3
   ORDER BY position DESC FOR UPDATE`,
);

// Finds the records that block the creation of new records. The statement skips expired records, because a new record
// replaces them.
const FIND_OBSTACLES = prepared(
  'eligibility-find-obstacles',
  `SELECT n, obstacle.svc_eligiblity_id, obstacle.live
   FROM json_to_recordset($1) AS asked (n int, account_code text, candidate_id text, test_code text,
     client_eligibility_id text, created_datetime timestamptz)
   CROSS JOIN LATERAL (
     SELECT e.svc_eligiblity_id, true AS live FROM eligibilities e
     WHERE e.account_code = asked.account_code AND e.candidate_id = asked.candidate_id AND e.test_code = asked.test_code
       AND ${LIVE} AND (status = 'SCHEDULED' OR coalesce(eligibility_end_date > asked.created_datetime, true))
     UNION ALL
     SELECT e.svc_eligiblity_id, false FROM eligibilities e
     WHERE e.account_code = asked.account_code AND e.client_eligibility_id = asked.client_eligibility_id AND status <> 'CANCELLED'
     LIMIT 1) obstacle`,
);

/** Creates eligibility records. Each creation also writes an audit entry and an entry of the change feed. */
@Injectable()
export class EligibilityCreation {
  private readonly unheardCreation: Batched<object, Created & { n: number }>;
  private readonly creation: Batched<object, Created & { n: number }>;
  /** The accounts that are known to have subscriptions. Their records are always created with events. */
  private readonly heard = new Set<string>();

  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly commandBus: CommandBus,
    private readonly secrets: Secrets,
  ) {
    // Batches the new records of many requests into one statement and one commit.
    this.unheardCreation = new Batched(database, CREATE_UNHEARD, numbered);
    this.creation = new Batched(database, CREATE, numbered);
  }

  /** Creates the record, and returns the row that was stored. */
  async insert(record: NewEligibility): Promise<Eligibility> {
    try {
      const created = await this.insertUnobstructed(record);
      if (created) {
        currentTransaction.current?.writes();
        return this.announced(created);
      }
      return await this.unitOfWork.run(() => this.insertAfterExpired(record));
    } catch (error) {
      // An error in a transaction that several commands share is not interpreted, because another command may have
      // caused it.
      if (this.unitOfWork.isShared) throw error;
      throw refusalOf(error) ?? error;
    }
  }

  /** Creates the record if no other record blocks it. */
  private async insertUnobstructed(record: NewEligibility): Promise<Created | undefined> {
    if (!this.heard.has(record.account_code)) {
      const [created] = await this.unheardCreation.ask(this.rowOf(record));
      if (created) return created;
    }
    const [created] = await this.creation.ask(this.rowOf(record));
    if (created) this.heard.add(record.account_code);
    return created;
  }

  /**
   * Returns the parameter of {@link insertMany} for the given records. The caller of the current request becomes their
   * creator.
   */
  valuesOf(records: readonly NewEligibility[]): [string] {
    return numbered(records.map((record) => this.rowOf(record)));
  }

  /**
   * Creates the records in one statement, or in two statements if other records block some of them. Returns for each
   * record whether it was created, or why not.
   */
  async insertMany(records: readonly NewEligibility[], values: [string]): Promise<Creation[]> {
    const created = await this.database.query<{ n: number; created: string; told: EventRow | null }>(
      CREATE_MANY,
      values,
    );
    this.unitOfWork.publishAfterCommit(created.flatMap(({ told }) => told ?? []));
    const made = new Map(created.map(({ n, created: id }) => [records[n - 1], { created: id }]));
    const obstructed = records.filter((record) => !made.has(record));
    const obstacles = await this.findObstacles(obstructed);
    return records.map((record) => made.get(record) ?? obstacles[obstructed.indexOf(record)] ?? 'OBSTRUCTED');
  }

  /**
   * Replaces an expired record of the candidate. Stores its expiry, releases its vouchers, and creates the new record.
   * An expired record keeps its vouchers until it is replaced.
   */
  private async insertAfterExpired(record: NewEligibility): Promise<Eligibility> {
    const { account_code, candidate_id, test_code, created_datetime } = record;
    const key = [account_code, candidate_id, test_code];
    if (record.retake !== null) {
      // The error for an active record takes precedence over the policy, because the candidate needs no other record.
      const [live] = await this.findObstacles([record]);
      if (live) throw live;
      await this.assertRetake(record, record.retake);
    }
    await noteExpiry(this.database, this.unitOfWork, LOCK_OVER, [...key, created_datetime], created_datetime);
    for (const expired of await this.database.query<{ svc_eligiblity_id: string }>(FIND_EXPIRED, key))
      await this.commandBus.execute(new ReleaseVouchers(expired.svc_eligiblity_id));
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const created = await this.database.queryOne<Created>(CREATE_AFTER_EXPIRED, numbered([this.rowOf(record)]));
      if (created) return this.announced(created);
      const [obstacle] = await this.findObstacles([record]);
      if (obstacle) throw obstacle;
      // Either the record that blocked the creation has disappeared in the meantime, or the random id was already in
      // use. The creation is therefore tried again.
    }
    throw new Error('No eligibility could be created.');
  }

  /**
   * Refuses another attempt that the policy of the test does not allow. Locks the candidate's records first, so that no
   * result completes one of them before the new record is stored.
   * @throws DomainError retake_not_allowed
   */
  private async assertRetake(record: NewEligibility, policy: RetakePolicy): Promise<void> {
    const { account_code, candidate_id, test_code, schedule_start_date, created_datetime } = record;
    const rows = await this.database.query<Attempt>(LOCK_ATTEMPTS, [account_code, candidate_id, test_code]);
    const earliest = schedule_start_date ?? created_datetime;
    assertRetakeAllowed(policy, rows, earliest > created_datetime ? earliest : created_datetime);
  }

  /** Publishes the event of a new record, if a handler listens for it; returns the record. */
  private announced(created: Created): Eligibility {
    if (created.told !== null) this.unitOfWork.publishAfterCommit([created.told]);
    return created;
  }

  /**
   * Builds the row to insert for the record, with a new id and the creator. Members without a value are omitted, which
   * saves parsing.
   */
  private rowOf(record: NewEligibility): object {
    const { caller, requestId, traceparent } = requestContext();
    const row: Record<string, unknown> = {
      svc_eligiblity_id: this.secrets.code(ID_LENGTH),
      actor: caller?.username ?? 'system',
      application: caller?.consumerKey ?? null,
      request_id: requestId,
      traceparent,
    };
    for (const [name, value] of Object.entries(record)) if (value !== null) row[name] = value;
    return row;
  }

  /** Returns for each record the reason why it can never be created; null if there is none. */
  private async findObstacles(records: readonly NewEligibility[]): Promise<(DomainError | null)[]> {
    if (records.length === 0) return [];
    const obstacles = await this.database.query<Obstacle>(FIND_OBSTACLES, numbered(records));
    const byNumber = new Map(obstacles.map((obstacle) => [obstacle.n, obstacle]));
    return records.map((_, index) => obstructedBy(byNumber.get(index + 1)));
  }
}

/** A new record, with its event if a handler listens for the event. */
type Created = Eligibility & { told: EventRow | null };

interface Obstacle {
  n: number;
  svc_eligiblity_id: string;
  live: boolean;
}

function obstructedBy(obstacle: Obstacle | undefined): DomainError | null {
  if (!obstacle) return null;
  const { code, description } = clientEligibilityIdInUse;
  const members = { svc_eligiblity_id: obstacle.svc_eligiblity_id };
  return obstacle.live
    ? duplicateEligibility.error({ members })
    : clientEligibilityIdInUse.error({
        members,
        errors: [{ pointer: '/client_eligibility_id', code, detail: description }],
      });
}

/**
 * Maps the error for a violated constraint to a domain error; null for other errors. Data that a check has accepted may
 * have changed before the write.
 */
export function refusalOf(error: unknown): DomainError | null {
  switch (violatedConstraint(error)) {
    case 'eligibilities_test_fk':
      return validationError.error({
        errors: [{ pointer: '/test_code', code: 'test_unknown', detail: 'The account has no test with this code.' }],
      });
    case 'eligibilities_school_fk':
      return validationError.error({
        errors: [
          {
            pointer: '/candidate/school_code',
            code: 'school_code_unknown',
            detail: 'The account has no school with this code.',
          },
        ],
      });
    case 'eligibilities_live_key':
      return duplicateEligibility.error();
    default:
      return null;
  }
}
