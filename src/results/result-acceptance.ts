import { CommandBus } from '@nestjs/cqrs';
import { Injectable } from '@nestjs/common';
import { CompleteExam } from '../bookings/bookings.commands.js';
import { LockEligibility, type LockedEligibility } from '../eligibility/eligibility.commands.js';
import { statusAt } from '../eligibility/eligibility.fields.js';
import { Clock } from '../platform/clock.js';
import { ACROSS_ACCOUNTS, type Reach } from '../platform/context/caller.js';
import { requestContext } from '../platform/context/request-context.js';
import { UnitOfWork } from '../platform/unit-of-work/unit-of-work.js';
import { DomainError } from '../platform/errors.js';
import type { Delivery, KeptBody } from './result-body.js';
import { keptOf } from './result-erasure.js';
import { ResultQuota } from './result-quota.js';
import { ResultStore } from './result-store.js';
import {
  candidateExamAmbiguous,
  candidateExamNotFound,
  registrationAmbiguous,
  registrationMismatch,
  registrationNotFound,
  resultIdConflict,
} from './results.errors.js';
import type { ResultSource } from './results.rules.js';
import { UnmatchedStore } from './unmatched-store.js';

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
 * What both routes and the operator share.
 *
 * 1. The eligibility is held first, then its booking (by CompleteExam): results and bookings never wait for each other.
 * 2. What was matched before the row was held is matched again once it is: nothing can change it from there on.
 * 3. The revision, the completion, the event and the audit row commit together.
 * 4. A refusal rolls back; only then is the body kept for an operator, in a transaction of its own.
 * 5. Of what comes for a record that is erased no more is kept than an erasure leaves: the held row says so.
 */
@Injectable()
export class ResultAcceptance {
  constructor(
    private readonly store: ResultStore,
    private readonly unmatched: UnmatchedStore,
    private readonly quota: ResultQuota,
    private readonly unitOfWork: UnitOfWork,
    private readonly commandBus: CommandBus,
    private readonly clock: Clock,
  ) {}

  /** Adds the revision to an exam that is held; the same body as its newest changes nothing, and is answered with false. */
  async accept(
    exam: LockedEligibility,
    source: ResultSource,
    { body, username, receivedAt }: Delivery,
    { resultId, simulated }: { resultId: string | null; simulated: boolean },
  ): Promise<boolean> {
    const { svc_eligiblity_id, account_code, candidate_id, test_code } = exam;
    const erased = keptOf(exam, source, body);
    const added = await this.store.add({
      svc_eligiblity_id,
      account_code,
      source,
      body: erased ?? body,
      result_id: erased && resultId !== null ? this.store.erasedKey(resultId) : resultId,
      simulated,
      username,
      received_datetime: receivedAt,
    });
    this.unmatched.settleMatched(source, exam, { body, username, receivedAt }, this.clock.now(), erased);
    if (!added) return false;
    const { revision, booking_code } = added;
    this.unitOfWork.audit('result.accept', svc_eligiblity_id, { accountCode: account_code });
    if (!simulated && (await this.commandBus.execute(new CompleteExam(svc_eligiblity_id, revision)))) return true;
    const now = this.clock.now();
    this.unitOfWork.change({
      kind: 'RESULT',
      change: revision === 1 ? 'RESULT_RECEIVED' : 'RESULT_REVISED',
      at: now,
      account_code,
      svc_eligiblity_id,
      candidate_id,
      test_code,
      booking_code,
      status: statusAt(exam, now),
      revision,
    });
    return true;
  }

  /**
   * Does the work in a transaction; a body that it refuses to match is kept for an operator.
   * @param work answers with the account that has a new revision by it, or null
   * @throws DomainError result_quota_exceeded, and what `work` throws
   */
  async deliver(
    source: ResultSource,
    accountCode: string | null,
    delivery: Delivery,
    examCode: string | null,
    work: () => Promise<string | null>,
  ): Promise<void> {
    const { body } = delivery;
    const counted = (unit: () => Promise<void>) =>
      this.unitOfWork.run(unit).catch((error: unknown) => Promise.reject(this.quota.explained(error) as Error));
    try {
      await counted(async () => {
        const account = await work();
        if (account !== null) this.quota.countMatched(account, body);
      });
    } catch (error) {
      if (!(error instanceof DomainError && REFUSALS.has(error.problem))) throw error;
      // What led to its exam, an operator or a record that was open, leads there no more; the same body changes nothing.
      if (await this.store.isNewestSomewhere(accountCode, body)) return;
      await counted(async () => {
        const owner = accountCode ?? requestContext().caller!.consumerKey;
        const left = examCode === null ? null : await this.leftOf(examCode, source, body);
        const kept = left ? { ...delivery, body: left } : delivery;
        if (await this.unmatched.keep(source, accountCode, error.code, kept, examCode))
          this.quota.countUnmatched(owner, body);
      });
      throw error;
    }
  }

  /** What is kept of a body that names a record by its code, when that is erased; it is held until the body is kept. */
  private async leftOf(examCode: string, source: ResultSource, body: KeptBody): Promise<KeptBody | null> {
    const booked = await this.store.findExamOfBooking(examCode, ACROSS_ACCOUNTS);
    const exam = await this.lock(booked ?? examCode, ACROSS_ACCOUNTS);
    return exam && keptOf(exam, source, body);
  }

  /** Holds the eligibility of an exam: deliveries for it stand in a queue. */
  lock(svcEligibilityId: string, reach: Reach): Promise<LockedEligibility | null> {
    return this.commandBus.execute(new LockEligibility(svcEligibilityId, reach));
  }

  /** Finds the exam and holds it. */
  async hold(find: () => Promise<string>): Promise<LockedEligibility> {
    let id = await find();
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const exam = await this.lock(id, ACROSS_ACCOUNTS);
      const again = await find();
      if (exam && again === id) return exam;
      id = again;
    }
    throw new Error('What the result matches changed again and again.');
  }
}
