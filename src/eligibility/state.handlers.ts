import { CommandBus, CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { Clock } from '../platform/clock.js';
import { currentAllowedAccounts } from '../platform/context/request-context.js';
import { UnitOfWork } from '../platform/unit-of-work/unit-of-work.js';
import { forbiddenOperation } from '../platform/errors.js';
import { Faults } from '../platform/validation/faults.js';
import { ReleaseVouchers, SetVouchers, refusalFaults } from '../vouchers/vouchers.commands.js';
import { FindAppliedVouchers, FindVoucherRefusals } from '../vouchers/vouchers.queries.js';
import {
  ApproveAccommodations,
  CancelEligibility,
  DeclineAccommodations,
  HoldEligibility,
  ReleaseHold,
  ReplaceVouchers,
} from './eligibility.commands.js';
import type { Eligibility } from './eligibility.entity.js';
import { eligibilityBooked, eligibilityClosed, eligibilityNotFound } from './eligibility.errors.js';
import {
  AccommodationsApproved,
  EligibilityCancelled,
  EligibilityHeld,
  EligibilityReleased,
  EligibilityUpdated,
} from './eligibility.events.js';
import { EligibilityStore } from './eligibility-store.js';
import { assertMeant } from './line-of-file.js';
import { OPEN_STATUSES, statusAt } from './eligibility.fields.js';
import { isSameSet, mayTrigger, openStatus } from './eligibility.rules.js';
import { addressed } from './update.handlers.js';

@CommandHandler(CancelEligibility)
export class CancelEligibilityHandler implements ICommandHandler<CancelEligibility> {
  constructor(
    private readonly store: EligibilityStore,
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
    private readonly commandBus: CommandBus,
  ) {}

  async execute({ accountCode, candidateId, testCode, named }: CancelEligibility): Promise<string> {
    return this.unitOfWork.run(async () => {
      const records = await this.store.lockOfTest(accountCode, candidateId, testCode);
      const record = records.live ?? records.newest;
      if (named !== null) assertMeant(named, record, records.newestFirst);
      if (!record || record.status === 'CANCELLED') throw eligibilityNotFound.error();
      const now = this.clock.now();
      const status = statusAt(record, now);
      if (status === 'SCHEDULED') throw bookedBy(record);
      if (!mayTrigger(status, 'cancel')) throw eligibilityClosed.error();
      this.store.changeState(record, { status: 'CANCELLED' }, now);
      await this.commandBus.execute(new ReleaseVouchers(record.svc_eligiblity_id));
      this.store.raise(EligibilityCancelled, record);
      this.unitOfWork.audit('eligibility.cancel', record.svc_eligiblity_id);
      return record.svc_eligiblity_id;
    });
  }
}

@CommandHandler(ReplaceVouchers)
export class ReplaceVouchersHandler implements ICommandHandler<ReplaceVouchers> {
  constructor(
    private readonly store: EligibilityStore,
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
    private readonly commandBus: CommandBus,
    private readonly queryBus: QueryBus,
  ) {}

  async execute(command: ReplaceVouchers): Promise<void> {
    const { accountCode, candidateId, testCode, voucherCodes, pointer } = command;
    const faults = new Faults(command.faults.list);
    await this.unitOfWork.run(async () => {
      const records = await this.store.lockOfTest(accountCode, candidateId, testCode);
      if (!faults.isEmpty) {
        const codes = faults.entries(pointer, voucherCodes);
        const known = codes.filter((code) => code !== undefined);
        const svcEligibilityId = records.changeable?.svc_eligiblity_id ?? null;
        const refusals = await this.queryBus.execute(
          new FindVoucherRefusals(accountCode, svcEligibilityId, testCode, known),
        );
        faults.add(...refusalFaults(refusals, codes, pointer));
        throw faults.error();
      }
      const record = addressed(records);
      if (!mayTrigger(statusAt(record, this.clock.now()), 'set vouchers')) throw bookedBy(record);
      const applied = await this.queryBus.execute(new FindAppliedVouchers(record.svc_eligiblity_id));
      if (isSameSet(applied, voucherCodes)) return;
      const refusals = await this.commandBus.execute(
        new SetVouchers(accountCode, record.svc_eligiblity_id, testCode, voucherCodes),
      );
      faults.add(...refusalFaults(refusals, voucherCodes, pointer));
      faults.refuse();
      this.store.raise(EligibilityUpdated, this.store.changeState(record, {}, this.clock.now()));
      this.unitOfWork.audit('eligibility.set-vouchers', record.svc_eligiblity_id, { changed: ['voucher_codes'] });
    });
  }
}

function bookedBy({ booking_code }: Eligibility) {
  return eligibilityBooked.error({ detail: `Cancel the booking ${booking_code} first.`, members: { booking_code } });
}

const DECISIONS = {
  hold: EligibilityHeld,
  release: EligibilityReleased,
  approve: AccommodationsApproved,
  decline: EligibilityUpdated,
} as const;

/** The base class of handlers for an operator's decision about an open eligibility record, such as a hold. */
abstract class OperatorDecision {
  constructor(
    private readonly store: EligibilityStore,
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
  ) {}

  protected async decide(
    svcEligibilityId: string,
    trigger: keyof typeof DECISIONS,
    decision: Partial<Pick<Eligibility, 'hold_reason' | 'approval_pending' | 'decline_reason'>>,
  ): Promise<void> {
    await this.unitOfWork.run(async () => {
      const record = await this.store.lockById(svcEligibilityId, currentAllowedAccounts());
      const now = this.clock.now();
      const status = statusAt(record, now);
      if (!mayTrigger(status, trigger) || (trigger === 'decline' && !record.approval_pending))
        throw forbiddenOperation.error({ detail: `A record that is ${status} does not allow "${trigger}".` });
      const isNews = Object.entries(decision).some(([name, value]) => record[name as keyof Eligibility] !== value);
      if (isNews) {
        const stored = OPEN_STATUSES.includes(status) ? openStatus({ ...record, ...decision }) : status;
        this.store.raise(DECISIONS[trigger], this.store.changeState(record, { ...decision, status: stored }, now));
      }
      this.unitOfWork.audit(`eligibility.${trigger}`, svcEligibilityId, { accountCode: record.account_code });
    });
  }
}

@CommandHandler(HoldEligibility)
export class HoldEligibilityHandler extends OperatorDecision implements ICommandHandler<HoldEligibility> {
  constructor(store: EligibilityStore, unitOfWork: UnitOfWork, clock: Clock) {
    super(store, unitOfWork, clock);
  }

  execute({ svcEligibilityId, reason }: HoldEligibility): Promise<void> {
    return this.decide(svcEligibilityId, 'hold', { hold_reason: reason });
  }
}

@CommandHandler(ReleaseHold)
export class ReleaseHoldHandler extends OperatorDecision implements ICommandHandler<ReleaseHold> {
  constructor(store: EligibilityStore, unitOfWork: UnitOfWork, clock: Clock) {
    super(store, unitOfWork, clock);
  }

  execute({ svcEligibilityId }: ReleaseHold): Promise<void> {
    return this.decide(svcEligibilityId, 'release', { hold_reason: null });
  }
}

@CommandHandler(ApproveAccommodations)
export class ApproveAccommodationsHandler extends OperatorDecision implements ICommandHandler<ApproveAccommodations> {
  constructor(store: EligibilityStore, unitOfWork: UnitOfWork, clock: Clock) {
    super(store, unitOfWork, clock);
  }

  execute({ svcEligibilityId }: ApproveAccommodations): Promise<void> {
    return this.decide(svcEligibilityId, 'approve', { approval_pending: false, decline_reason: null });
  }
}

@CommandHandler(DeclineAccommodations)
export class DeclineAccommodationsHandler extends OperatorDecision implements ICommandHandler<DeclineAccommodations> {
  constructor(store: EligibilityStore, unitOfWork: UnitOfWork, clock: Clock) {
    super(store, unitOfWork, clock);
  }

  execute({ svcEligibilityId, reason }: DeclineAccommodations): Promise<void> {
    return this.decide(svcEligibilityId, 'decline', { decline_reason: reason });
  }
}
