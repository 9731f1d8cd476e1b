import { CommandBus, CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { LockEligibilitiesOfCandidate } from '../../eligibility/eligibility.commands.js';
import { Clock } from '../../platform/clock.js';
import { ACROSS_ACCOUNTS } from '../../platform/context/caller.js';
import { FindKnownAccounts } from '../../platform/known-accounts.js';
import { ResultAcceptance } from './result-acceptance.js';
import { ResultReception } from './result-reception.js';
import { ResultStore } from '../records/result-store.js';
import { SameBodies } from '../records/same-bodies.js';
import { DeliverAccountResult, DeliverRegistrationResult } from '../results.commands.js';
import { candidateExamNotFound, registrationMismatch, resultIdConflict } from '../results.errors.js';
import {
  matchCandidateExam,
  matchRegistration,
  matchResultId,
  type AccountFacts,
  type Match,
  type RegistrationFacts,
} from '../body/results.rules.js';

/**
 * Returns the exam with which a result was matched.
 * @throws DomainError the refusal of the match
 */
function matched(match: Match): string {
  if ('refusal' in match) throw match.refusal.error();
  return match.svcEligibilityId;
}

@CommandHandler(DeliverRegistrationResult)
export class DeliverRegistrationResultHandler implements ICommandHandler<DeliverRegistrationResult> {
  constructor(
    private readonly acceptance: ResultAcceptance,
    private readonly reception: ResultReception,
    private readonly store: ResultStore,
    private readonly clock: Clock,
    private readonly queryBus: QueryBus,
  ) {}

  async execute({ delivered, accountCodes }: DeliverRegistrationResult): Promise<void> {
    const received = await this.reception.receive('REGISTRATION', null, delivered);
    if (received === null) return;
    const { facts, delivery } = received;
    await this.acceptance.deliver('REGISTRATION', null, delivery, facts, async () => {
      const accounts = accountCodes ?? (await this.queryBus.execute(new FindKnownAccounts(ACROSS_ACCOUNTS)));
      const exam = await this.acceptance.hold(() => this.match(facts, accounts));
      // The record locator of a simulated exam (a rehearsal) is not stored. It differs from the exam's own locator, and
      // must not block that locator.
      if (!facts.simulated && facts.locator !== null && !(await this.store.addLocator(exam, facts.locator)))
        throw registrationMismatch.error();
      const taken = { resultId: null, simulated: facts.simulated };
      return (await this.acceptance.accept(exam, 'REGISTRATION', delivery, taken)) ? exam.account_code : null;
    });
  }

  private async match(facts: RegistrationFacts, accountCodes: string[]): Promise<string> {
    const found = await this.store.findRegistrations(facts, accountCodes, this.clock.now());
    return matched(matchRegistration(found, facts.locator));
  }
}

@CommandHandler(DeliverAccountResult)
export class DeliverAccountResultHandler implements ICommandHandler<DeliverAccountResult> {
  constructor(
    private readonly acceptance: ResultAcceptance,
    private readonly reception: ResultReception,
    private readonly store: ResultStore,
    private readonly sameBodies: SameBodies,
    private readonly clock: Clock,
    private readonly commandBus: CommandBus,
  ) {}

  async execute({ delivered, accountCode }: DeliverAccountResult): Promise<void> {
    const received = await this.reception.receive('ACCOUNT', accountCode, delivered);
    if (received === null) return;
    const { facts, delivery } = received;
    const { candidateId, resultId } = facts;
    await this.acceptance.deliver('ACCOUNT', accountCode, delivery, null, async () => {
      const seen = await this.matchResultId(facts, accountCode);
      if (seen === null && candidateId === null) throw candidateExamNotFound.error();
      // A lock on the candidate serializes the deliveries of the candidate's results, so that each delivery sees the
      // changes of earlier deliveries.
      if (candidateId !== null)
        await this.commandBus.execute(new LockEligibilitiesOfCandidate(accountCode, candidateId));
      if (resultId === null && (await this.sameBodies.isNewestSomewhere(accountCode, delivery))) return null;
      const exam = await this.acceptance.hold(
        async () => (await this.matchResultId(facts, accountCode)) ?? this.matchExam(accountCode, candidateId!),
      );
      if (resultId !== null && !(await this.store.addResultId(exam, resultId))) throw resultIdConflict.error();
      return (await this.acceptance.accept(exam, 'ACCOUNT', delivery, { resultId, simulated: false }))
        ? accountCode
        : null;
    });
  }

  /** Returns the exam for which the result_id was accepted before; null if it is unknown. */
  private async matchResultId({ resultId, candidateId }: AccountFacts, accountCode: string): Promise<string | null> {
    const seen = resultId === null ? null : await this.store.findResultId(accountCode, resultId);
    return seen && matched(matchResultId(seen, seen.erased ? null : candidateId));
  }

  private async matchExam(accountCode: string, candidateId: string): Promise<string> {
    const now = this.clock.now();
    return matched(matchCandidateExam(await this.store.findCandidateExams(accountCode, candidateId, now), now));
  }
}
