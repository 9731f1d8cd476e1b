import { CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Config } from '../config.js';
import { Clock, parseDateTime } from '../platform/clock.js';
import { insertChangesOf } from '../platform/changes/change-log.js';
import { Database, prepared, violatedConstraint } from '../platform/database/database.js';
import { Batched, numbered } from '../platform/database/batched.js';
import { UnitOfWork } from '../platform/unit-of-work/unit-of-work.js';
import { declareFaults, validationError, type DomainError, type Fault } from '../platform/errors.js';
import { requestContext } from '../platform/context/request-context.js';
import { Faults } from '../platform/validation/faults.js';
import { generatedCode } from '../platform/secrets.js';
import { refusalFaults, ReleaseVouchers, SetVouchers } from '../vouchers/vouchers.commands.js';
import { CatalogueCheck } from './catalogue-check.js';
import { CreateEligibility } from './eligibility.commands.js';
import { REGISTRATION_MODES, type EligibilityModel } from './eligibility-model.fields.js';
import { demographicsOf, WRITTEN, type NewEligibility } from './eligibility.columns.js';
import type { Eligibility } from './eligibility.entity.js';
import { clientEligibilityIdInUse, duplicateEligibility } from './eligibility.errors.js';
import { LIVE, openStatus } from './eligibility.rules.js';
import { noteExpiry } from './expiry-sweep.js';

declareFaults({
  end_date_past: ['The window is over before it begins.', 'Give an eligibility_end_date in the future.'],
  end_date_before_start: [
    'The window ends before it begins.',
    'Give an eligibility_end_date after schedule_start_date.',
  ],
});

const ID_LENGTH = 8;
const ATTEMPTS = 5;

const COLUMNS = Object.keys(WRITTEN).join(', ');
const TYPED = Object.entries(WRITTEN).map(([column, type]) => `${column} ${type}`);

const CREATED = (records: string) => `WITH asked AS MATERIALIZED (
    SELECT * FROM json_to_recordset($1) AS asked (n int, actor text, application text, request_id text, ${TYPED.join(', ')})),
  created AS (
    INSERT INTO eligibilities (${COLUMNS}) SELECT ${COLUMNS} FROM asked ${records}
    ORDER BY account_code, candidate_id, test_code
    ON CONFLICT DO NOTHING RETURNING *),
  audited AS (
    INSERT INTO audit_log (actor, application, account_code, action, subject, request_id)
    SELECT actor, application, created.account_code, 'eligibility.create', svc_eligiblity_id, request_id
    FROM created JOIN asked USING (svc_eligiblity_id)),
  told AS (${insertChangesOf(`
    SELECT created_datetime, 'ELIGIBILITY', 'CREATED', account_code, svc_eligiblity_id, candidate_id, test_code,
      NULL::text, status, NULL::int, NULL::int, NULL::json
    FROM created`)})
  SELECT n, created.* FROM created JOIN asked USING (svc_eligiblity_id)`;

// The usual case: nothing stands in the way. In one order, so that two processes that meet do not block each other.
const CREATE = prepared(
  'eligibility-create',
  CREATED(`WHERE NOT EXISTS (
    SELECT FROM eligibilities e WHERE e.account_code = asked.account_code AND e.candidate_id = asked.candidate_id
      AND e.test_code = asked.test_code AND e.status = 'EXPIRED')`),
);
const CREATE_AFTER_EXPIRED = prepared('eligibility-create-after-expired', CREATED(''));

// A record whose window is over gives way to the new one.
const GIVE_WAY = prepared(
  'eligibility-give-way',
  noteExpiry('account_code = $1 AND candidate_id = $2 AND test_code = $3 AND eligibility_end_date <= $4'),
);
const FIND_EXPIRED = prepared(
  'eligibility-find-expired',
  `SELECT svc_eligiblity_id FROM eligibilities
   WHERE account_code = $1 AND candidate_id = $2 AND test_code = $3 AND status = 'EXPIRED' ORDER BY position`,
);

const FIND_OBSTACLE = prepared(
  'eligibility-find-obstacle',
  `SELECT svc_eligiblity_id, candidate_id = $2 AND test_code = $3 AND ${LIVE} AS live
   FROM eligibilities
   WHERE account_code = $1 AND candidate_id = $2 AND test_code = $3 AND ${LIVE}
      OR account_code = $1 AND client_eligibility_id = $4 AND status <> 'CANCELLED'
   ORDER BY live DESC LIMIT 1`,
);

@CommandHandler(CreateEligibility)
export class CreateEligibilityHandler implements ICommandHandler<CreateEligibility> {
  private readonly creation: Batched<object, Eligibility & { n: number }>;

  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly catalogue: CatalogueCheck,
    private readonly clock: Clock,
    private readonly commandBus: CommandBus,
    private readonly config: Config,
  ) {
    // The records of many requests as one statement, which is one commit: a create takes 0.75 of the time.
    this.creation = new Batched(database, CREATE, numbered);
  }

  async execute({ accountCode, body, faults: ofForm }: CreateEligibility): Promise<Eligibility> {
    const faults = new Faults(ofForm.list);
    const now = this.clock.now();
    faults.add(...windowFaults(body, now, faults));
    const checked = await this.catalogue.forNew(accountCode, body, faults);
    faults.refuse();
    const record = newRecord(accountCode, body, checked.portionCodes, checked.approvalPending, now);
    const vouchers = [...new Set(body.voucher_codes ?? [])];
    // Without vouchers one statement is the whole change: a transaction of its own.
    if (vouchers.length === 0) return this.insert(record);
    return this.unitOfWork.run(async () => {
      const created = await this.insert(record);
      const refusals = await this.commandBus.execute(
        new SetVouchers(accountCode, created.svc_eligiblity_id, created.test_code, vouchers),
      );
      faults.add(...refusalFaults(refusals, body.voucher_codes!, '/voucher_codes'));
      faults.refuse();
      return created;
    });
  }

  /** The record as the database has it. */
  private async insert(record: NewEligibility): Promise<Eligibility> {
    try {
      const [created] = await this.creation.ask(this.rowOf(record));
      if (created) return created;
      return await this.unitOfWork.run(() => this.insertAfterExpired(record));
    } catch (error) {
      throw refusalOf(error) ?? error;
    }
  }

  /** An expired record keeps its vouchers until another one takes its place. */
  private async insertAfterExpired(record: NewEligibility): Promise<Eligibility> {
    const { account_code, candidate_id, test_code, created_datetime } = record;
    const key = [account_code, candidate_id, test_code];
    await this.database.execute(GIVE_WAY, [...key, created_datetime]);
    for (const expired of await this.database.query<{ svc_eligiblity_id: string }>(FIND_EXPIRED, key))
      await this.commandBus.execute(new ReleaseVouchers(expired.svc_eligiblity_id));
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const created = await this.database.queryOne<Eligibility>(CREATE_AFTER_EXPIRED, numbered([this.rowOf(record)]));
      if (created) return created;
      const obstacle = await this.findObstacle(record);
      if (obstacle) throw obstacle;
      // The obstacle went away in the meantime, or the random id was taken: try again.
    }
    throw new Error('No eligibility could be created.');
  }

  /** The record as the statements read it, with an id and who made it. */
  private rowOf(record: NewEligibility): object {
    const { caller, requestId } = requestContext();
    return {
      ...record,
      svc_eligiblity_id: generatedCode(this.config, ID_LENGTH),
      actor: caller?.username ?? 'system',
      application: caller?.consumerKey ?? null,
      request_id: requestId,
    };
  }

  private async findObstacle(record: NewEligibility): Promise<DomainError | null> {
    const obstacle = await this.database.queryOne<{ svc_eligiblity_id: string; live: boolean }>(FIND_OBSTACLE, [
      record.account_code,
      record.candidate_id,
      record.test_code,
      record.client_eligibility_id,
    ]);
    if (!obstacle) return null;
    return obstacle.live
      ? duplicateEligibility.error({ members: { svc_eligiblity_id: obstacle.svc_eligiblity_id } })
      : clientEligibilityIdInUse.error({
          errors: [
            {
              pointer: '/client_eligibility_id',
              code: clientEligibilityIdInUse.code,
              detail: clientEligibilityIdInUse.description,
            },
          ],
        });
  }
}

/** The end must lie in the future and after the start. */
function windowFaults(body: EligibilityModel, now: Date, faults: Faults): Fault[] {
  const start = faults.concern('/schedule_start_date') ? null : dateOf(body.schedule_start_date);
  const end = faults.concern('/eligibility_end_date') ? null : dateOf(body.eligibility_end_date);
  const pointer = '/eligibility_end_date';
  const found: Fault[] = [];
  if (end !== null && end <= now) found.push({ pointer, code: 'end_date_past', detail: 'Must lie in the future.' });
  if (end !== null && start !== null && end <= start)
    found.push({ pointer, code: 'end_date_before_start', detail: 'Must lie after schedule_start_date.' });
  return found;
}

export function dateOf(text: string | null | undefined): Date | null {
  return text == null ? null : parseDateTime(text);
}

/** One of the specification's spellings, whatever the case it came in. */
export function registrationModeOf(text: string | null | undefined): string | null {
  return REGISTRATION_MODES.find((mode) => mode.toLowerCase() === text?.toLowerCase()) ?? null;
}

function newRecord(
  accountCode: string,
  body: EligibilityModel,
  portionCodes: string[],
  approvalPending: boolean,
  now: Date,
): NewEligibility {
  const { candidate } = body;
  return {
    account_code: accountCode,
    candidate_id: candidate.candidate_id,
    test_code: body.test_code,
    client_eligibility_id: body.client_eligibility_id ?? null,
    status: openStatus({ hold_reason: null, approval_pending: approvalPending }),
    approval_pending: approvalPending,
    schedule_start_date: dateOf(body.schedule_start_date),
    eligibility_end_date: dateOf(body.eligibility_end_date),
    registration_mode: registrationModeOf(body.registration_mode),
    portion_codes: portionCodes,
    ...demographicsOf(candidate),
    country: candidate.country?.toUpperCase() ?? null,
    special_accommodations: [...new Set(candidate.special_accommodations ?? [])],
    additional_attributes: (candidate.additional_attributes ?? []).map(({ key, value }) => ({ key, value })),
    created_datetime: now,
    updated_datetime: now,
  };
}

/** What was checked may have changed by the time of the write: the constraints have the last word. */
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
