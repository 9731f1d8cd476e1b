import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { acrossAccounts, Database, prepared, unestimated } from '../platform/database/database.js';
import { Batched } from '../platform/database/batched.js';
import type { Faults } from '../platform/validation/faults.js';
import { oneOf, type Rule } from '../platform/validation/rules.js';
import { SHOWN, type ShownEligibility } from './eligibility.columns.js';
import type { Eligibility } from './eligibility.entity.js';
import { candidateNotFound, eligibilityNotFound, invalidStatusFilter } from './eligibility.errors.js';
import {
  FindEligibilities,
  FindEligibilitiesOfTest,
  FindLaunchSubject,
  GetEligibility,
  type LaunchSubject,
} from './eligibility.queries.js';
import {
  ACTIVE_STATUSES,
  ELIGIBILITY_STATUSES,
  INACTIVE_STATUSES,
  statusAt,
  type EligibilityStatus,
} from './eligibility.fields.js';
import { isInWindow, mayTrigger } from './eligibility.rules.js';

const OF_CANDIDATE = prepared(
  'eligibility-of-candidate',
  'SELECT * FROM eligibilities WHERE account_code = $1 AND candidate_id = $2 ORDER BY position DESC',
);
const OF_TEST = prepared(
  'eligibility-of-test',
  `SELECT asked.n::int, found.*
   FROM unnest(${unestimated('$1::text[]')}, $2::text[], $3::text[]) WITH ORDINALITY AS asked (account_code, candidate_id, test_code, n)
   CROSS JOIN LATERAL (
     SELECT ${SHOWN.join(', ')} FROM eligibilities e
     WHERE e.account_code = asked.account_code AND e.candidate_id = asked.candidate_id AND e.test_code = asked.test_code
     ORDER BY e.position DESC) found
   ORDER BY asked.n, found.position DESC`,
);
const OF_ID = prepared(
  'eligibility-of-id',
  'SELECT * FROM eligibilities WHERE account_code = $1 AND svc_eligiblity_id = $2',
);
const IS_KNOWN = prepared(
  'eligibility-candidate-known',
  'SELECT EXISTS (SELECT FROM eligibilities WHERE account_code = $1 AND candidate_id = $2) AS known',
);
const TO_LAUNCH = prepared(
  'eligibility-to-launch',
  `SELECT eligibility.*, test.launch_url, test.launch_minutes_before FROM eligibilities eligibility JOIN tests test USING (account_code, test_code)
   WHERE svc_eligiblity_id = $1`,
  acrossAccounts.keyInHand,
);

@QueryHandler(FindEligibilities)
export class FindEligibilitiesHandler implements IQueryHandler<FindEligibilities> {
  constructor(private readonly database: Database) {}

  async execute({ accountCode, candidateId }: FindEligibilities): Promise<Eligibility[]> {
    const records = await this.database.query<Eligibility>(OF_CANDIDATE, [accountCode, candidateId]);
    if (records.length === 0) throw candidateNotFound.error();
    return records;
  }
}

@QueryHandler(FindEligibilitiesOfTest)
export class FindEligibilitiesOfTestHandler implements IQueryHandler<FindEligibilitiesOfTest> {
  private readonly ofTest: Batched<FindEligibilitiesOfTest, ShownEligibility & { n: number }>;

  constructor(private readonly database: Database) {
    // Batches the reads of many requests into one statement. Each read is for one candidate and test.
    this.ofTest = new Batched(database, OF_TEST, (keys) => [
      keys.map((key) => key.accountCode),
      keys.map((key) => key.candidateId),
      keys.map((key) => key.testCode),
    ]);
  }

  async execute(key: FindEligibilitiesOfTest): Promise<ShownEligibility[]> {
    const records = await this.ofTest.ask(key);
    if (records.length === 0) {
      const row = await this.database.queryOne<{ known: boolean }>(IS_KNOWN, [key.accountCode, key.candidateId]);
      throw row?.known ? eligibilityNotFound.error() : candidateNotFound.error();
    }
    return records;
  }
}

@QueryHandler(GetEligibility)
export class GetEligibilityHandler implements IQueryHandler<GetEligibility> {
  constructor(private readonly database: Database) {}

  async execute({ accountCode, svcEligibilityId }: GetEligibility): Promise<Eligibility> {
    const record = await this.database.queryOne<Eligibility>(OF_ID, [accountCode, svcEligibilityId]);
    if (!record) throw eligibilityNotFound.error();
    return record;
  }
}

type Launchable = Eligibility & { launch_url: string | null; launch_minutes_before: number | null };

@QueryHandler(FindLaunchSubject)
export class FindLaunchSubjectHandler implements IQueryHandler<FindLaunchSubject> {
  constructor(private readonly database: Database) {}

  async execute({ svcEligibilityId, now }: FindLaunchSubject): Promise<LaunchSubject | null> {
    const record = await this.database.queryOne<Launchable>(TO_LAUNCH, [svcEligibilityId]);
    if (!record) return null;
    const { svc_eligiblity_id, account_code, candidate_id, test_code, booking_code } = record;
    const held = record.hold_reason !== null;
    const mayLaunch = !held && mayTrigger(statusAt(record, now), 'launch') && isInWindow(record, now);
    const { booking_on, launch_minutes_before: minutes } = record;
    return {
      svc_eligiblity_id,
      account_code,
      candidate_id,
      test_code,
      booking_code,
      launch_url: mayLaunch ? record.launch_url : null,
      held,
      available_from:
        booking_on === null || minutes === null ? null : new Date(booking_on.getTime() - minutes * 60_000),
    };
  }
}

const SELECTED: ReadonlyMap<string, readonly EligibilityStatus[]> = new Map([
  ['active', ACTIVE_STATUSES],
  ['inactive', INACTIVE_STATUSES],
  ['all', ELIGIBILITY_STATUSES],
  ...ELIGIBILITY_STATUSES.map((status): [string, readonly EligibilityStatus[]] => [status.toLowerCase(), [status]]),
]);
const selection = oneOf(['active', 'inactive', 'all', ...ELIGIBILITY_STATUSES], invalidStatusFilter.code, {
  anyCase: true,
});
/**
 * The validation rule for the `status` query parameter. The rule accepts every string. {@link statusesOf} checks the
 * parameter instead, because the refusal has its own problem code.
 */
export const statusFilter: Rule = { schema: selection.schema, faults: () => [] };

/**
 * Returns the statuses that the `status` query parameter selects. The value of the parameter is `active`, `inactive`,
 * `all` or one status, in upper or lower case.
 * @param faults further faults of the request, which the error also reports
 * @throws DomainError invalid_status_filter when the parameter is missing, repeated or unknown
 */
export function statusesOf(parameter: unknown, faults: Faults): readonly EligibilityStatus[] {
  if (selection.faults(parameter).length === 0) return SELECTED.get((parameter as string).toLowerCase())!;
  throw invalidStatusFilter.error({
    errors: [
      ...faults.list,
      { parameter: 'status', code: invalidStatusFilter.code, detail: invalidStatusFilter.description },
    ],
  });
}
