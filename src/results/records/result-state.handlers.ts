import { CommandBus, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { LockEligibility } from '../../eligibility/eligibility.commands.js';
import { eligibilityNotFound } from '../../eligibility/eligibility.errors.js';
import { statusAt } from '../../eligibility/eligibility.fields.js';
import { Clock } from '../../platform/clock.js';
import { currentAllowedAccounts } from '../../platform/context/request-context.js';
import { acrossAccounts, Database, prepared } from '../../platform/database/database.js';
import { UnitOfWork } from '../../platform/unit-of-work/unit-of-work.js';
import { DecideOnResult } from '../results.commands.js';
import { resultNotFound } from '../results.errors.js';
import { ResultHeld, ResultReleased, ResultRevoked } from '../results.events.js';
import type { ResultState } from './result-state.entity.js';

const EVENTS = { RELEASED: ResultReleased, HELD: ResultHeld, REVOKED: ResultRevoked } as const;
const ACTIONS = { RELEASED: 'result.release', HELD: 'result.hold', REVOKED: 'result.revoke' } as const;

const FIND = prepared(
  'results-find-state',
  `SELECT max(revision) AS revision,
     coalesce((SELECT state FROM result_states WHERE svc_eligiblity_id = $1), 'RELEASED') AS state,
     (SELECT booking_code FROM bookings WHERE svc_eligiblity_id = $1 AND status IN ('BOOKED', 'ABSENT', 'COMPLETED')
      ORDER BY created_datetime DESC LIMIT 1) AS booking_code
   FROM result_revisions WHERE svc_eligiblity_id = $1`,
  acrossAccounts.keyInHand,
);
const SAVE = prepared(
  'results-save-state',
  `INSERT INTO result_states (svc_eligiblity_id, account_code, state, reason) VALUES ($1, $2, $3, $4)
   ON CONFLICT (svc_eligiblity_id, account_code) DO UPDATE SET state = excluded.state, reason = excluded.reason`,
);

interface Found {
  /** The number of the newest revision of the exam's result; null if the exam has no result. */
  revision: number | null;
  state: ResultState;
  booking_code: string | null;
}

@CommandHandler(DecideOnResult)
export class DecideOnResultHandler implements ICommandHandler<DecideOnResult> {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly commandBus: CommandBus,
    private readonly clock: Clock,
  ) {}

  execute({ svcEligibilityId, state, reason }: DecideOnResult): Promise<void> {
    return this.unitOfWork.run(async () => {
      const exam = await this.commandBus.execute(new LockEligibility(svcEligibilityId, currentAllowedAccounts()));
      if (exam === null) throw eligibilityNotFound.error();
      const { svc_eligiblity_id, account_code, candidate_id, test_code } = exam;
      const found = (await this.database.queryOne<Found>(FIND, [svc_eligiblity_id]))!;
      if (found.revision === null) throw resultNotFound.error();
      await this.database.execute(SAVE, [svc_eligiblity_id, account_code, state, reason]);
      this.unitOfWork.audit(ACTIONS[state], svc_eligiblity_id, { accountCode: account_code });
      if (found.state === state) return;
      const now = this.clock.now();
      this.unitOfWork.raiseOf(EVENTS[state], {
        kind: 'RESULT',
        at: now,
        ...{ account_code, svc_eligiblity_id, candidate_id, test_code },
        booking_code: found.booking_code,
        status: statusAt(exam, now),
        revision: found.revision,
      });
    });
  }
}
