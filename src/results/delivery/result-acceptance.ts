import { CommandBus } from '@nestjs/cqrs';
import { Injectable } from '@nestjs/common';
import { CompleteExam } from '../../bookings/bookings.commands.js';
import { LockEligibility, type LockedEligibility } from '../../eligibility/eligibility.commands.js';
import { statusAt } from '../../eligibility/eligibility.fields.js';
import { Clock } from '../../platform/clock.js';
import { ACROSS_ACCOUNTS, type AllowedAccounts } from '../../platform/context/caller.js';
import { UnitOfWork } from '../../platform/unit-of-work/unit-of-work.js';
import { DomainError } from '../../platform/errors.js';
import type { Delivery } from '../body/result-body.js';
import { keptOf } from '../body/result-erasure.js';
import { ResultQuota } from '../records/result-quota.js';
import { ResultReception } from './result-reception.js';
import { ResultStore } from '../records/result-store.js';
import {
  candidateExamAmbiguous,
  candidateExamNotFound,
  registrationAmbiguous,
  registrationMismatch,
  registrationNotFound,
  resultIdConflict,
} from '../results.errors.js';
import { ResultRevised } from '../results.events.js';
import type { NamedExam, ResultSource } from '../body/results.rules.js';
import { SameBodies } from '../records/same-bodies.js';
import { UnmatchedStore } from '../unmatched/unmatched-store.js';

const ATTEMPTS = 5;

const REFUSALS = new Set([
  registrationMismatch,
  registrationAmbiguous,
  registrationNotFound,
  resultIdConflict,
  candidateExamNotFound,
  candidateExamAmbiguous,
]);

/**
 * Thrown to roll back all writes for an exam, when an operator has accepted the same result body for a different exam.
 */
class SettledElsewhere extends Error {}

/**
 * Accepts a result for an exam, on both delivery routes and for an operator.
 *
 * 1. The eligibility is locked first, then its booking (by CompleteExam), so that results and bookings never deadlock.
 * 2. The match is repeated under the lock, so that no other transaction can change the match afterwards.
 * 3. The revision, the completion, the event and the audit entry commit together.
 * 4. A refusal rolls the transaction back. The body is then stored for an operator in a separate transaction
 *    (result-reception.ts).
 * 5. The transaction first locks the eligibility, then the locator and the `result_id`, and then the unmatched results
 *    with the same body. When an operator accepts a result, the transaction uses the same order. A body completes only
 *    one exam: of two transactions with the same body, the second finds that the body is already settled.
 * 6. If the candidate's personal data was erased, only the data that an erasure keeps is stored. The locked eligibility
 *    shows whether the data was erased.
 */
@Injectable()
export class ResultAcceptance {
  constructor(
    private readonly store: ResultStore,
    private readonly sameBodies: SameBodies,
    private readonly unmatched: UnmatchedStore,
    private readonly reception: ResultReception,
    private readonly quota: ResultQuota,
    private readonly unitOfWork: UnitOfWork,
    private readonly commandBus: CommandBus,
    private readonly clock: Clock,
  ) {}

  /**
   * Adds a revision with the result's body to a locked exam. Returns false, and changes nothing, if the body equals the
   * body of the newest revision.
   * @param isOperators whether an operator accepts the result. If so, the result is accepted even if its body was
   * accepted for another exam
   * @throws SettledElsewhere
   */
  async accept(
    exam: LockedEligibility,
    source: ResultSource,
    { body, faults, username, receivedAt }: Delivery,
    { resultId, simulated }: { resultId: string | null; simulated: boolean },
    isOperators = false,
  ): Promise<boolean> {
    const { svc_eligiblity_id, account_code, candidate_id, test_code } = exam;
    const erased = keptOf(exam, source, body);
    const newest = await this.sameBodies.findNewest(exam, source, body.hash, username);
    if (newest.is_elsewhere && !isOperators) throw new SettledElsewhere();
    if (newest.is_waiting)
      this.unmatched.settleMatched(source, exam, { username, hash: body.hash }, this.clock.now(), erased);
    if (newest.body_hash?.equals(body.hash)) return false;
    const revision = await this.store.add(newest, {
      svc_eligiblity_id,
      account_code,
      source,
      body: erased ?? body,
      faults: erased ? [] : [...faults],
      result_id: erased && resultId !== null ? this.store.erasedKey(resultId) : resultId,
      simulated,
      username,
      received_datetime: receivedAt,
    });
    const { booking_code } = newest;
    this.unitOfWork.audit('result.accept', svc_eligiblity_id, { accountCode: account_code });
    if (!simulated && (await this.commandBus.execute(new CompleteExam(svc_eligiblity_id, revision)))) return true;
    const now = this.clock.now();
    const change = {
      kind: 'RESULT' as const,
      at: now,
      account_code,
      svc_eligiblity_id,
      candidate_id,
      test_code,
      booking_code,
      status: statusAt(exam, now),
      revision,
    };
    if (revision === 1) this.unitOfWork.change({ ...change, change: 'RESULT_RECEIVED' });
    else this.unitOfWork.raiseOf(ResultRevised, change);
    return true;
  }

  /**
   * Runs the work in a transaction. If the body cannot be matched, the body is stored for an operator.
   * @param work returns the account that gets a new revision, or null
   * @throws DomainError result_quota_exceeded, and the errors of `work`
   */
  async deliver(
    source: ResultSource,
    accountCode: string | null,
    delivery: Delivery,
    exam: NamedExam | null,
    work: () => Promise<string | null>,
  ): Promise<void> {
    const { body } = delivery;
    try {
      await this.quota.explaining(() =>
        this.unitOfWork.run(async () => {
          const account = await work();
          if (account !== null) this.quota.countMatched(account, body);
        }),
      );
    } catch (error) {
      if (error instanceof SettledElsewhere) return;
      if (!(error instanceof DomainError && REFUSALS.has(error.problem))) throw error;
      // The match may fail because the eligibility is no longer open. If the same body was accepted before, the
      // repeated delivery changes nothing, and is not refused.
      if (await this.sameBodies.isNewestSomewhere(accountCode, delivery)) return;
      throw await this.reception.keep(error, source, accountCode, delivery, exam);
    }
  }

  /** Locks the eligibility of an exam, so that the deliveries of its results are serialized. */
  lock(svcEligibilityId: string, allowedAccounts: AllowedAccounts): Promise<LockedEligibility | null> {
    return this.commandBus.execute(new LockEligibility(svcEligibilityId, allowedAccounts));
  }

  /** Finds the exam of a result, locks the exam, and repeats the search under the lock. */
  async hold(find: () => Promise<string>): Promise<LockedEligibility> {
    let id = await find();
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const exam = await this.lock(id, ACROSS_ACCOUNTS);
      const again = await find();
      if (exam && again === id) return exam;
      id = again;
    }
    throw new Error('The match of the result changed repeatedly.');
  }
}
