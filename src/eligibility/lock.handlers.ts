import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { EligibilityStore } from './eligibility-store.js';
import { LockEligibilitiesOfCandidate, LockEligibility, type LockedEligibility } from './eligibility.commands.js';

@CommandHandler(LockEligibility)
export class LockEligibilityHandler implements ICommandHandler<LockEligibility> {
  constructor(private readonly store: EligibilityStore) {}

  execute({ svcEligibilityId, allowedAccounts }: LockEligibility): Promise<LockedEligibility | null> {
    return this.store.hold(svcEligibilityId, allowedAccounts);
  }
}

@CommandHandler(LockEligibilitiesOfCandidate)
export class LockEligibilitiesOfCandidateHandler implements ICommandHandler<LockEligibilitiesOfCandidate> {
  constructor(private readonly store: EligibilityStore) {}

  execute({ accountCode, candidateId }: LockEligibilitiesOfCandidate): Promise<void> {
    return this.store.holdAllOf(accountCode, candidateId);
  }
}
