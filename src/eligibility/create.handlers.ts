import { CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Clock, parseDateTime } from '../platform/clock.js';
import { declareFaults, DomainError, type Fault } from '../platform/errors.js';
import { UnitOfWork } from '../platform/unit-of-work/unit-of-work.js';
import { Faults } from '../platform/validation/faults.js';
import { refusalFaults, SetVouchers } from '../vouchers/vouchers.commands.js';
import { CatalogueCheck, type CheckedBody } from './catalogue-check.js';
import {
  CreateEligibilities,
  CreateEligibility,
  JudgeCreations,
  type Creation,
  type JudgedCreations,
  type NewRecord,
} from './eligibility.commands.js';
import { EligibilityCreation } from './eligibility-creation.js';
import { REGISTRATION_MODES, type EligibilityModel } from './eligibility-model.fields.js';
import { demographicsOf, type NewEligibility } from './eligibility.columns.js';
import type { Eligibility } from './eligibility.entity.js';
import { openStatus } from './eligibility.rules.js';

declareFaults({
  end_date_past: ['The end of the eligibility window is in the past.', 'Send an eligibility_end_date in the future.'],
  end_date_before_start: [
    'The eligibility window ends before it begins.',
    'Send an eligibility_end_date that is later than schedule_start_date.',
  ],
});

@CommandHandler(CreateEligibility)
export class CreateEligibilityHandler implements ICommandHandler<CreateEligibility> {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly catalogue: CatalogueCheck,
    private readonly creation: EligibilityCreation,
    private readonly clock: Clock,
    private readonly commandBus: CommandBus,
  ) {}

  async execute({ accountCode, body, faults: ofForm }: CreateEligibility): Promise<Eligibility> {
    const faults = new Faults(ofForm.list);
    const record = await judged(this.catalogue, accountCode, body, faults, this.clock.now());
    const vouchers = [...new Set(body.voucher_codes ?? [])];
    // Without vouchers, the creation is a single statement in its own transaction.
    if (vouchers.length === 0) return this.creation.insert(record);
    return this.unitOfWork.run(async () => {
      const created = await this.creation.insert(record);
      const refusals = await this.commandBus.execute(
        new SetVouchers(accountCode, created.svc_eligiblity_id, created.test_code, vouchers),
      );
      faults.add(...refusalFaults(refusals, body.voucher_codes!, '/voucher_codes'));
      faults.refuse();
      return created;
    });
  }
}

/** The number of bodies after which the checks pause, so that the process can handle other requests. */
const JUDGED_AT_ONCE = 100;

@CommandHandler(JudgeCreations)
export class JudgeCreationsHandler implements ICommandHandler<JudgeCreations> {
  constructor(
    private readonly catalogue: CatalogueCheck,
    private readonly creation: EligibilityCreation,
    private readonly clock: Clock,
  ) {}

  async execute({ accountCode, asked }: JudgeCreations): Promise<JudgedCreations> {
    const now = this.clock.now();
    const answers: (NewEligibility | DomainError)[] = [];
    for (let from = 0; from < asked.length; from += JUDGED_AT_ONCE) {
      const some = asked.slice(from, from + JUDGED_AT_ONCE);
      answers.push(...(await Promise.all(some.map((one) => this.judge(accountCode, one, now)))));
    }
    return { answers, values: this.creation.valuesOf(answers.filter(isReady)) };
  }

  private async judge(
    accountCode: string,
    { body, faults }: NewRecord,
    now: Date,
  ): Promise<NewEligibility | DomainError> {
    try {
      return await judged(this.catalogue, accountCode, body, new Faults(faults.list), now);
    } catch (error) {
      if (error instanceof DomainError) return error;
      throw error;
    }
  }
}

@CommandHandler(CreateEligibilities)
export class CreateEligibilitiesHandler implements ICommandHandler<CreateEligibilities> {
  constructor(private readonly creation: EligibilityCreation) {}

  async execute({ judged: { answers, values } }: CreateEligibilities): Promise<Creation[]> {
    const records = answers.filter(isReady);
    const created = (records.length > 0 ? await this.creation.insertMany(records, values) : []).values();
    return answers.map((answer) => (isReady(answer) ? created.next().value! : answer));
  }
}

function isReady(answer: NewEligibility | DomainError): answer is NewEligibility {
  return !(answer instanceof DomainError);
}

/**
 * Checks the body of a request, and builds the record to create.
 * @throws DomainError validation_error
 */
async function judged(
  catalogue: CatalogueCheck,
  accountCode: string,
  body: EligibilityModel,
  faults: Faults,
  now: Date,
): Promise<NewEligibility> {
  faults.add(...windowFaults(body, now, faults));
  const checked = await catalogue.forNew(accountCode, body, faults);
  faults.refuse();
  return newRecord(accountCode, body, checked, now);
}

/**
 * Returns a fault if the scheduling window of the record does not end in the future, or does not end after its start.
 */
function windowFaults(body: EligibilityModel, now: Date, faults: Faults): Fault[] {
  const start = faults.concern('/schedule_start_date') ? null : dateOf(body.schedule_start_date);
  const end = faults.concern('/eligibility_end_date') ? null : dateOf(body.eligibility_end_date);
  const pointer = '/eligibility_end_date';
  const found: Fault[] = [];
  if (end !== null && end <= now) found.push({ pointer, code: 'end_date_past', detail: 'Must be in the future.' });
  if (end !== null && start !== null && end <= start)
    found.push({ pointer, code: 'end_date_before_start', detail: 'Must be after schedule_start_date.' });
  return found;
}

export function dateOf(text: string | null | undefined): Date | null {
  return text == null ? null : parseDateTime(text);
}

/**
 * Returns the registration mode in the specification's spelling; null for an unknown mode. The text may be in upper or
 * lower case.
 */
export function registrationModeOf(text: string | null | undefined): string | null {
  return REGISTRATION_MODES.find((mode) => mode.toLowerCase() === text?.toLowerCase()) ?? null;
}

function newRecord(
  accountCode: string,
  body: EligibilityModel,
  { portionCodes, approvalPending, retake }: CheckedBody,
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
    retake,
  };
}
