import { isDeepStrictEqual } from 'node:util';
import { CommandBus, CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { Clock } from '../platform/clock.js';
import { UnitOfWork } from '../platform/unit-of-work/unit-of-work.js';
import { forbiddenOperation, type Fault } from '../platform/errors.js';
import { Faults } from '../platform/validation/faults.js';
import { refusalFaults, SetVouchers } from '../vouchers/vouchers.commands.js';
import { FindAppliedVouchers } from '../vouchers/vouchers.queries.js';
import { CatalogueCheck } from './catalogue-check.js';
import { dateOf, registrationModeOf } from './create.handlers.js';
import { refusalOf } from './eligibility-creation.js';
import { UpdateEligibility, type LineOfFile } from './eligibility.commands.js';
import { DEMOGRAPHICS } from './eligibility.columns.js';
import { MOST_ATTRIBUTES, MOST_VOUCHERS, type EligibilityModel } from './eligibility-model.fields.js';
import { Eligibility } from './eligibility.entity.js';
import { eligibilityClosed, eligibilityNotFound } from './eligibility.errors.js';
import { EligibilityUpdated } from './eligibility.events.js';
import { EligibilityStore, type RecordsOfTest } from './eligibility-store.js';
import { assertMeant, changedAttributes, withAllAttributes } from './line-of-file.js';
import { isWindowOver } from './eligibility.fields.js';
import { isInWindow, isSameSet, openStatus } from './eligibility.rules.js';

@CommandHandler(UpdateEligibility)
export class UpdateEligibilityHandler implements ICommandHandler<UpdateEligibility> {
  constructor(
    private readonly store: EligibilityStore,
    private readonly unitOfWork: UnitOfWork,
    private readonly queryBus: QueryBus,
    private readonly catalogue: CatalogueCheck,
    private readonly clock: Clock,
    private readonly commandBus: CommandBus,
  ) {}

  /** Updates the record completely or not at all: one fault or one forbidden member prevents all changes. */
  async execute(command: UpdateEligibility): Promise<{ record: string; changed: boolean }> {
    const { accountCode, candidateId, testCode, faults: ofForm, line } = command;
    return this.unitOfWork.run(async () => {
      // The list of the request's faults is copied, because the unit of work may be retried and would otherwise add its
      // own faults twice.
      const faults = new Faults(ofForm.list);
      const records = await this.store.lockOfTest(accountCode, candidateId, testCode);
      // The form of the request is checked before the state of the record (docs/contract.md, order of checks).
      if (line !== null) assertMeant(line, records.changeable, records.newestFirst);
      const record = faults.isEmpty ? addressed(records) : records.changeable;
      const body = withAllAttributes(command.body, line, record);
      faults.add(...windowFaults(record, body, faults), ...attributeFaults(record, line));
      const checked = await this.catalogue.forChange(accountCode, testCode, body, faults, record);
      if (!record) throw faults.error();
      const applied = await this.queryBus.execute(new FindAppliedVouchers(record.svc_eligiblity_id));
      const isWholeSet = line !== null && line.attributes !== null && line.svcEligibilityId !== null;
      if (!faults.isEmpty) {
        const codes = faults.entries('/voucher_codes', body.voucher_codes).filter((code) => code !== undefined);
        faults.add(...numberFaults(isWholeSet ? codes : withAdded(applied, codes), applied));
        throw faults.error();
      }
      const vouchers = vouchersAsked(body, applied, isWholeSet);
      const forbidden = forbiddenChanges(record, { candidateId, testCode }, body, checked.portionCodes, {
        applied,
        asked: vouchers,
      });
      if (forbidden.length > 0) throw forbiddenOperation.error({ errors: forbidden });
      const vouchersChange = await this.applyVouchers(record, body, { applied, asked: vouchers }, faults);
      const changes = changesOf(record, body, checked.portionCodes, line);
      const changed = await this.change(record, changes, vouchersChange);
      return { record: record.svc_eligiblity_id, changed };
    });
  }

  /**
   * Writes the changes to the record. If nothing changes, the record keeps the time of its last change, and no audit
   * entry is written.
   */
  private async change(record: Eligibility, changes: Partial<Eligibility>, vouchersChange: boolean): Promise<boolean> {
    const now = this.clock.now();
    const changed = { ...record, ...changes };
    if (record.status !== 'SCHEDULED') changes.status = isWindowOver(changed, now) ? 'EXPIRED' : openStatus(record);
    const names = (Object.keys(changes) as (keyof Eligibility)[]).filter(
      (name) => !isDeepStrictEqual(changes[name], record[name]),
    );
    if (names.length === 0 && !vouchersChange) return false;
    try {
      await this.store.change(record, changes, now);
    } catch (error) {
      throw refusalOf(error) ?? error;
    }
    this.store.raise(EligibilityUpdated, record);
    const changedNames = vouchersChange ? [...names, 'voucher_codes'] : names;
    this.unitOfWork.audit('eligibility.update', record.svc_eligiblity_id, { changed: changedNames });
    return true;
  }

  /** Applies the requested vouchers, and returns whether the record's set of vouchers changes. */
  private async applyVouchers(
    record: Eligibility,
    body: EligibilityModel,
    { applied, asked }: Vouchers,
    faults: Faults,
  ): Promise<boolean> {
    if (isSameSet(asked, applied)) return false;
    faults.add(...numberFaults(asked, applied));
    faults.refuse();
    const refusals = await this.commandBus.execute(
      new SetVouchers(record.account_code, record.svc_eligiblity_id, record.test_code, [...asked]),
    );
    faults.add(...refusalFaults(refusals, body.voucher_codes ?? [], '/voucher_codes'));
    faults.refuse();
    return true;
  }
}

/**
 * Returns the record that the request changes: the candidate's open record for the test or, if there is none, the
 * newest expired record.
 * @throws DomainError eligibility_closed, eligibility_not_found
 */
export function addressed(records: RecordsOfTest): Eligibility {
  const record = records.changeable;
  if (record) return record;
  throw records.isClosed ? eligibilityClosed.error() : eligibilityNotFound.error();
}

/** The voucher codes of a record before and after the update. */
interface Vouchers {
  readonly applied: readonly string[];
  readonly asked: readonly string[];
}

/**
 * Returns the voucher codes that the record will have. If the body has no list, the record keeps its codes. Null
 * removes all codes. If `isWholeSet` is true, a list replaces the record's codes; otherwise, the codes in the list are
 * added.
 */
function vouchersAsked({ voucher_codes: codes }: EligibilityModel, applied: string[], isWholeSet: boolean): string[] {
  if (codes === undefined) return applied;
  if (codes === null) return [];
  return isWholeSet ? [...new Set(codes)] : withAdded(applied, codes);
}

/** Returns the record's current codes together with the added codes, without duplicates. */
function withAdded(applied: readonly string[], codes: readonly string[]): string[] {
  return [...new Set([...applied, ...codes])];
}

/**
 * Returns a fault if the record would have too many vouchers. A short list can exceed the limit, because the record's
 * current codes count as well.
 */
function numberFaults(asked: readonly string[], applied: readonly string[]): Fault[] {
  if (asked.length <= MOST_VOUCHERS || asked.length === applied.length) return [];
  const detail = `The record would have more than ${MOST_VOUCHERS} vouchers.`;
  return [{ pointer: '/voucher_codes', code: 'too_many', detail }];
}

/**
 * Returns the faults of the attributes in a line of an import file. Attributes that the line does not name are kept.
 */
function attributeFaults(record: Eligibility | null, line: LineOfFile | null): Fault[] {
  if (line?.attributes == null) return [];
  const before = record?.additional_attributes ?? [];
  const after = changedAttributes(before, line.attributes);
  if (after.length <= MOST_ATTRIBUTES || after.length === before.length) return [];
  const detail = `The record would have more than ${MOST_ATTRIBUTES} attributes.`;
  return [{ pointer: '/candidate/additional_attributes', code: 'too_many', detail }];
}

function windowOf(record: Eligibility | null, body: EligibilityModel) {
  return {
    schedule_start_date:
      body.schedule_start_date === undefined ? (record?.schedule_start_date ?? null) : dateOf(body.schedule_start_date),
    eligibility_end_date:
      body.eligibility_end_date === undefined
        ? (record?.eligibility_end_date ?? null)
        : dateOf(body.eligibility_end_date),
  };
}

/**
 * Returns a fault if the record's window would be invalid after the update. A date that already has a fault is not
 * compared.
 */
function windowFaults(record: Eligibility | null, body: EligibilityModel, faults: Faults): Fault[] {
  if (faults.concern('/schedule_start_date') || faults.concern('/eligibility_end_date')) return [];
  const { schedule_start_date: start, eligibility_end_date: end } = windowOf(record, body);
  if (start === null || end === null || end > start) return [];
  return [
    {
      pointer: body.eligibility_end_date === undefined ? '/schedule_start_date' : '/eligibility_end_date',
      code: 'end_date_before_start',
      detail: 'The scheduling window must end after it begins.',
    },
  ];
}

/**
 * Returns the members of the body that would change a value that an update must not change. Each of these members is
 * returned with its JSON Pointer.
 */
function forbiddenChanges(
  record: Eligibility,
  path: { candidateId: string; testCode: string },
  body: EligibilityModel,
  portionCodes: string[],
  vouchers: Vouchers,
): Fault[] {
  const forbidden: Fault[] = [];
  const forbid = (pointer: string, detail: string) => forbidden.push({ pointer, code: 'forbidden_operation', detail });
  const { candidate } = body;
  if (candidate.candidate_id !== path.candidateId)
    forbid('/candidate/candidate_id', 'Must be the candidate of the path.');
  if (body.test_code !== path.testCode) forbid('/test_code', 'Must be the test of the path.');
  if (
    candidate.special_accommodations !== undefined &&
    !isSameSet(candidate.special_accommodations ?? [], record.special_accommodations)
  )
    forbid('/candidate/special_accommodations', 'Cannot be changed: cancel the record and create it again.');
  if (body.client_eligibility_id !== undefined && body.client_eligibility_id !== record.client_eligibility_id)
    forbid('/client_eligibility_id', 'Cannot be changed: cancel the record and create it again.');
  if (record.status !== 'SCHEDULED') return forbidden;

  if (body.portion_codes !== undefined && !isSameSet(portionCodes, record.portion_codes))
    forbid('/portion_codes', 'Cannot be changed while the exam is booked.');
  if (!isSameSet(vouchers.asked, vouchers.applied))
    forbid('/voucher_codes', 'Cannot be changed while the exam is booked.');
  const window = windowOf(record, body);
  if (!isInWindow(window, record.booking_on!)) {
    const starts = window.schedule_start_date !== null && window.schedule_start_date > record.booking_on!;
    forbid(
      starts ? '/schedule_start_date' : '/eligibility_end_date',
      'The window must contain the start of the booking.',
    );
  }
  return forbidden;
}

/** Returns the changes to the record that the body requests. An omitted member keeps its value; null clears it. */
function changesOf(
  record: Eligibility,
  body: EligibilityModel,
  portionCodes: string[],
  line: LineOfFile | null,
): Partial<Eligibility> {
  const { candidate } = body;
  const changes: Partial<Eligibility> = { ...windowOf(record, body) };
  // A cell of a CSV file cannot distinguish an empty string from null. An empty cell therefore leaves a stored empty
  // string unchanged.
  const isOfCells = line !== null && line.attributes !== null;
  for (const name of DEMOGRAPHICS)
    if (candidate[name] !== undefined && !(isOfCells && candidate[name] === null && record[name] === ''))
      Object.assign(changes, { [name]: candidate[name] });
  if (candidate.country !== undefined) changes.country = candidate.country?.toUpperCase() ?? null;
  if (isOfCells) changes.additional_attributes = changedAttributes(record.additional_attributes, line.attributes);
  else if (candidate.additional_attributes !== undefined)
    changes.additional_attributes = (candidate.additional_attributes ?? []).map(({ key, value }) => ({ key, value }));
  if (body.portion_codes !== undefined && !isSameSet(portionCodes, record.portion_codes))
    changes.portion_codes = portionCodes;
  if (body.registration_mode !== undefined) changes.registration_mode = registrationModeOf(body.registration_mode);
  return changes;
}
