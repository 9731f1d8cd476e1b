import { CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Clock, parseDateTime } from '../platform/clock.js';
import { Database, prepared, violatedConstraint } from '../platform/database/database.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { validationError, type DomainError, type Fault } from '../platform/errors.js';
import { requestContext } from '../platform/http/request-context.js';
import { randomCode } from '../platform/secrets.js';
import { SetVouchers } from '../vouchers/vouchers.commands.js';
import { CatalogueCheck } from './catalogue-check.js';
import { CreateEligibility } from './eligibility.commands.js';
import { REGISTRATION_MODES, type EligibilityModel } from './eligibility.dto.js';
import { Eligibility } from './eligibility.entity.js';
import { clientEligibilityIdInUse, duplicateEligibility } from './eligibility.errors.js';
import { openStatus } from './eligibility.rules.js';

const ID_LENGTH = 8;
const ATTEMPTS = 5;

// A record whose window is over gives way to the new one. INSERT reads from that step, so that it runs first.
const CREATE = prepared(
  'eligibility-create',
  `WITH over AS (
     UPDATE eligibilities SET status = 'EXPIRED'
     WHERE account_code = $2 AND candidate_id = $3 AND test_code = $4
       AND status IN ('PENDING', 'ELIGIBLE') AND eligibility_end_date <= $28
     RETURNING 1),
   created AS (
     INSERT INTO eligibilities (
       svc_eligiblity_id, account_code, candidate_id, test_code, client_eligibility_id, status, approval_pending,
       schedule_start_date, eligibility_end_date, registration_mode, portion_codes, first_name, middle_name, last_name,
       suffix, address1, address2, city, province_state, postal_code, country, email, home_phone, office_phone,
       school_code, special_accommodations, additional_attributes, created_datetime, updated_datetime)
     SELECT $1, $2, $3, $4, $5, $6, $7, $8::timestamptz, $9::timestamptz, $10, $11::text[], $12, $13, $14, $15, $16, $17,
            $18, $19, $20, $21, $22, $23, $24, $25, $26::text[], $27::jsonb, $28::timestamptz, $28::timestamptz
     FROM (SELECT count(*) FROM over) AS first
     ON CONFLICT DO NOTHING
     RETURNING svc_eligiblity_id),
   audited AS (
     INSERT INTO audit_log (actor, action, subject, request_id)
     SELECT $29, 'eligibility.create', svc_eligiblity_id, $30 FROM created)
   SELECT svc_eligiblity_id FROM created`,
);

const FIND_OBSTACLE = prepared(
  'eligibility-find-obstacle',
  `SELECT svc_eligiblity_id, candidate_id = $2 AND test_code = $3 AND status IN ('PENDING', 'ELIGIBLE', 'SCHEDULED') AS live
   FROM eligibilities
   WHERE account_code = $1 AND candidate_id = $2 AND test_code = $3 AND status IN ('PENDING', 'ELIGIBLE', 'SCHEDULED')
      OR account_code = $1 AND client_eligibility_id = $4 AND status <> 'CANCELLED'
   ORDER BY live DESC LIMIT 1`,
);

@CommandHandler(CreateEligibility)
export class CreateEligibilityHandler implements ICommandHandler<CreateEligibility> {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly catalogue: CatalogueCheck,
    private readonly clock: Clock,
    private readonly commandBus: CommandBus,
  ) {}

  async execute({ accountCode, body, faults }: CreateEligibility): Promise<Eligibility> {
    const now = this.clock.now();
    const checked = await this.catalogue.forNew(accountCode, body, [...faults, ...windowFaults(body, now, faults)]);
    if (checked.faults.length > 0) throw validationError.error({ errors: checked.faults });
    const record = newRecord(accountCode, body, checked.portionCodes, checked.approvalPending, now);
    const vouchers = [...new Set(body.voucher_codes ?? [])];
    // Without vouchers one statement is the whole change: a transaction of its own.
    if (vouchers.length === 0) return this.insert(record);
    return this.unitOfWork.run(async () => {
      const created = await this.insert(record);
      const pointers = vouchers.map((code) => `/voucher_codes/${body.voucher_codes!.indexOf(code)}`);
      await this.commandBus.execute(
        new SetVouchers(accountCode, created.svc_eligiblity_id, created.test_code, vouchers, pointers),
      );
      return created;
    });
  }

  private async insert(record: Eligibility): Promise<Eligibility> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      record.svc_eligiblity_id = randomCode(ID_LENGTH);
      try {
        if ((await this.database.execute(CREATE, createValues(record))) === 1) return record;
      } catch (error) {
        throw refusalOf(error) ?? error;
      }
      const obstacle = await this.findObstacle(record);
      if (obstacle) throw obstacle;
      // The obstacle went away in the meantime, or the random id was taken: try again.
    }
    throw new Error('No eligibility could be created.');
  }

  private async findObstacle(record: Eligibility): Promise<DomainError | null> {
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
function windowFaults(body: EligibilityModel, now: Date, faults: Fault[]): Fault[] {
  const isSound = (pointer: string) => !faults.some((fault) => fault.pointer === pointer || fault.pointer === '');
  const start = isSound('/schedule_start_date') ? dateOf(body.schedule_start_date) : null;
  const end = isSound('/eligibility_end_date') ? dateOf(body.eligibility_end_date) : null;
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
): Eligibility {
  const { candidate } = body;
  return Object.assign(new Eligibility(), {
    account_code: accountCode,
    candidate_id: candidate.candidate_id,
    test_code: body.test_code,
    client_eligibility_id: body.client_eligibility_id ?? null,
    status: openStatus({ hold_reason: null, approval_pending: approvalPending }),
    hold_reason: null,
    approval_pending: approvalPending,
    booking_code: null,
    booking_on: null,
    schedule_start_date: dateOf(body.schedule_start_date),
    eligibility_end_date: dateOf(body.eligibility_end_date),
    registration_mode: registrationModeOf(body.registration_mode),
    portion_codes: portionCodes,
    first_name: candidate.first_name,
    middle_name: candidate.middle_name ?? null,
    last_name: candidate.last_name,
    suffix: candidate.suffix ?? null,
    address1: candidate.address1 ?? null,
    address2: candidate.address2 ?? null,
    city: candidate.city ?? null,
    province_state: candidate.province_state ?? null,
    postal_code: candidate.postal_code ?? null,
    country: candidate.country?.toUpperCase() ?? null,
    email: candidate.email ?? null,
    home_phone: candidate.home_phone ?? null,
    office_phone: candidate.office_phone ?? null,
    school_code: candidate.school_code ?? null,
    special_accommodations: [...new Set(candidate.special_accommodations ?? [])],
    additional_attributes: (candidate.additional_attributes ?? []).map(({ key, value }) => ({ key, value })),
    created_datetime: now,
    updated_datetime: now,
  });
}

function createValues(record: Eligibility): unknown[] {
  const { caller, requestId } = requestContext();
  return [
    record.svc_eligiblity_id,
    record.account_code,
    record.candidate_id,
    record.test_code,
    record.client_eligibility_id,
    record.status,
    record.approval_pending,
    record.schedule_start_date,
    record.eligibility_end_date,
    record.registration_mode,
    record.portion_codes,
    record.first_name,
    record.middle_name,
    record.last_name,
    record.suffix,
    record.address1,
    record.address2,
    record.city,
    record.province_state,
    record.postal_code,
    record.country,
    record.email,
    record.home_phone,
    record.office_phone,
    record.school_code,
    record.special_accommodations,
    JSON.stringify(record.additional_attributes),
    record.created_datetime,
    caller?.username ?? 'system',
    requestId,
  ];
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
