import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { bookingNotFound } from '../../bookings/bookings.errors.js';
import type { LockedEligibility } from '../../eligibility/eligibility.commands.js';
import { eligibilityNotFound } from '../../eligibility/eligibility.errors.js';
import { Clock } from '../../platform/clock.js';
import type { AllowedAccounts } from '../../platform/context/caller.js';
import { currentAllowedAccounts } from '../../platform/context/request-context.js';
import { forbiddenOperation } from '../../platform/errors.js';
import { UnitOfWork } from '../../platform/unit-of-work/unit-of-work.js';
import { ResultAcceptance } from './result-acceptance.js';
import { keptOf } from '../body/result-erasure.js';
import { ResultStore } from '../records/result-store.js';
import { SameBodies } from '../records/same-bodies.js';
import { AcceptUnmatchedResult } from '../results.commands.js';
import { unmatchedResultSettled } from '../results.errors.js';
import { assertOpen, factsOf } from '../unmatched/unmatched.rules.js';
import { UnmatchedStore } from '../unmatched/unmatched-store.js';

@CommandHandler(AcceptUnmatchedResult)
export class AcceptUnmatchedResultHandler implements ICommandHandler<AcceptUnmatchedResult> {
  constructor(
    private readonly acceptance: ResultAcceptance,
    private readonly store: ResultStore,
    private readonly sameBodies: SameBodies,
    private readonly unmatched: UnmatchedStore,
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
  ) {}

  async execute({ id, exam: named, reason }: AcceptUnmatchedResult): Promise<void> {
    await this.unitOfWork.run(async () => {
      const found = assertOpen(await this.unmatched.find(id));
      const { source, username, faults, received_datetime: receivedAt } = found;
      if (found.body === null)
        throw forbiddenOperation.error({ detail: 'A body that is not a JSON object cannot be the result of an exam.' });
      const exam = await this.holdNamed(named);
      if (found.account_code !== null && found.account_code !== exam.account_code)
        throw forbiddenOperation.error({ detail: 'The result was delivered for another account.' });
      if (exam.status === 'CANCELLED')
        throw forbiddenOperation.error({ detail: 'A CANCELLED record cannot receive a result.' });
      const facts = factsOf(source, found.body);
      // The exam that the operator has chosen takes precedence over the exam that the result names. A locator or
      // result_id that already belongs to another exam remains assigned to that exam.
      if (facts.locator !== null && !facts.simulated) await this.store.addLocator(exam, facts.locator);
      if (facts.resultId !== null) await this.store.addResultId(exam, facts.resultId);
      // The unmatched result is locked after the exam, in the same order as in every delivery. Another transaction may
      // have settled the result in the meantime.
      const { body } = assertOpen(await this.unmatched.lock(id));
      if (await this.sameBodies.isAcceptedElsewhere(exam, source, body!.hash, username))
        throw unmatchedResultSettled.error();
      await this.unmatched.settle(id, exam, this.clock.now(), keptOf(exam, source, body!), reason);
      await this.acceptance.accept(exam, source, { body: body!, faults, username, receivedAt }, facts, true);
      this.unitOfWork.audit('unmatched-result.accept', id, { accountCode: exam.account_code });
    });
  }

  /**
   * Returns the exam that the operator has named, and locks it.
   * @throws DomainError booking_not_found, eligibility_not_found, forbidden_operation
   */
  private async holdNamed(named: AcceptUnmatchedResult['exam']): Promise<LockedEligibility> {
    const allowedAccounts = currentAllowedAccounts();
    const id =
      'bookingCode' in named ? await this.recordBooked(named.bookingCode, allowedAccounts) : named.svcEligibilityId;
    const exam = await this.acceptance.lock(id, allowedAccounts);
    if (!exam) throw eligibilityNotFound.error();
    return exam;
  }

  /**
   * Returns the eligibility of the booking. Refuses a cancelled booking, because the candidate may have booked the exam
   * again.
   */
  private async recordBooked(bookingCode: string, allowedAccounts: AllowedAccounts): Promise<string> {
    const booked = await this.store.findExamOfBooking(bookingCode, allowedAccounts);
    if (booked === null) throw bookingNotFound.error();
    if (booked.is_cancelled)
      throw forbiddenOperation.error({
        detail: `The booking ${bookingCode} was cancelled. Name the record by its svc_eligiblity_id, or by its current booking.`,
      });
    return booked.svc_eligiblity_id;
  }
}
