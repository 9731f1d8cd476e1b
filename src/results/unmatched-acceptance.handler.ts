import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { bookingNotFound } from '../bookings/bookings.errors.js';
import type { LockedEligibility } from '../eligibility/eligibility.commands.js';
import { eligibilityNotFound } from '../eligibility/eligibility.errors.js';
import { Clock } from '../platform/clock.js';
import { currentReach } from '../platform/context/request-context.js';
import { forbiddenOperation } from '../platform/errors.js';
import { UnitOfWork } from '../platform/unit-of-work/unit-of-work.js';
import { ResultAcceptance } from './result-acceptance.js';
import { keptOf } from './result-erasure.js';
import { ResultStore } from './result-store.js';
import { AcceptUnmatchedResult } from './results.commands.js';
import { unmatchedResultAccepted, unmatchedResultNotFound } from './results.errors.js';
import { factsOf, UnmatchedStore } from './unmatched-store.js';

@CommandHandler(AcceptUnmatchedResult)
export class AcceptUnmatchedResultHandler implements ICommandHandler<AcceptUnmatchedResult> {
  constructor(
    private readonly acceptance: ResultAcceptance,
    private readonly store: ResultStore,
    private readonly unmatched: UnmatchedStore,
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
  ) {}

  async execute({ id, exam: named }: AcceptUnmatchedResult): Promise<void> {
    await this.unitOfWork.run(async () => {
      const result = await this.unmatched.lock(id);
      if (!result) throw unmatchedResultNotFound.error();
      if (result.accepted_datetime !== null) throw unmatchedResultAccepted.error();
      const exam = await this.holdNamed(named);
      if (result.account_code !== null && result.account_code !== exam.account_code)
        throw forbiddenOperation.error({ detail: 'The result was delivered for another account.' });
      if (exam.status === 'CANCELLED')
        throw forbiddenOperation.error({ detail: 'A record that is CANCELLED does not take a result.' });
      const facts = factsOf(result);
      // The operator has the last word: a locator or result_id that belongs elsewhere stays there.
      if (facts.locator !== null && !facts.simulated) await this.store.addLocator(exam, facts.locator);
      if (facts.resultId !== null) await this.store.addResultId(exam, facts.resultId);
      const delivery = { body: result.body, username: result.username, receivedAt: result.received_datetime };
      await this.unmatched.settle(
        id,
        exam.svc_eligiblity_id,
        this.clock.now(),
        keptOf(exam, result.source, result.body),
      );
      await this.acceptance.accept(exam, result.source, delivery, facts);
      this.unitOfWork.audit('unmatched-result.accept', id, { accountCode: exam.account_code });
    });
  }

  /** @throws DomainError booking_not_found, eligibility_not_found */
  private async holdNamed(named: AcceptUnmatchedResult['exam']): Promise<LockedEligibility> {
    const reach = currentReach();
    const id =
      'bookingCode' in named ? await this.store.findExamOfBooking(named.bookingCode, reach) : named.svcEligibilityId;
    if (id === null) throw bookingNotFound.error();
    const exam = await this.acceptance.lock(id, reach);
    if (!exam) throw eligibilityNotFound.error();
    return exam;
  }
}
