import { Injectable } from '@nestjs/common';
import { QueryBus, QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { v4 as uuid } from 'uuid';
import { HttpConfig } from '../platform/http/http.config.js';
import { eligibilityNotFound } from '../eligibility/eligibility.errors.js';
import { FindLaunchSubject, type LaunchSubject } from '../eligibility/eligibility.queries.js';
import { Clock, formatDateTime } from '../platform/clock.js';
import { Database, prepared } from '../platform/database/database.js';
import { SigningKeys } from '../platform/signing-keys/signing-keys.js';
import { UnitOfWork } from '../platform/unit-of-work/unit-of-work.js';
import { notFound } from '../platform/errors.js';
import type { Caller } from '../platform/context/caller.js';
import { GENERATED_TOKEN, Secrets, sha256 } from '../platform/secrets.js';
import { launchGone, launchNotAvailable } from './launch.errors.js';
import { FindLaunchTime } from './launch.queries.js';

const LAUNCH_LIFE_S = 300;
const TOKEN_LIFE_S = 60;
/** The time, in milliseconds, for which a launch URL returns 410 when it is opened again after its use. */
const USED_KEPT_MS = 30 * 24 * 3600_000;

const ISSUE = prepared(
  'launch-issue',
  'INSERT INTO launches (token_hash, svc_eligiblity_id, expires_at) VALUES ($1, $2, $3)',
);
// Marks a launch as used. Of two concurrent requests with the same launch URL, only one finds the row unused.
const REDEEM = prepared(
  'launch-redeem',
  `UPDATE launches SET used_at = $2 WHERE token_hash = $1 AND used_at IS NULL AND expires_at > $2
   RETURNING svc_eligiblity_id`,
);
/**
 * Deletes the used launches of a record. $1: the record; $2: launches that were used before this time are deleted. Only
 * the last launch of a record and recent launches are needed.
 */
const FORGET_USED = prepared(
  'launch-forget-used',
  'DELETE FROM launches WHERE svc_eligiblity_id = $1 AND used_at < $2',
);
const LAUNCH_TIME = prepared(
  'launch-time',
  'SELECT max(used_at) AS used_at FROM launches WHERE svc_eligiblity_id = $1 AND used_at IS NOT NULL',
);
const IS_KNOWN = prepared('launch-known', 'SELECT 1 FROM launches WHERE token_hash = $1');

/**
 * Issues launch URLs. A launch URL can be redeemed once. It redirects the candidate to the address of the test, with a
 * signed statement about the candidate. Used launches are kept for a few weeks; the last launch of a record is kept
 * forever, because it contains the start of the exam. Unused launches are deleted (launch-sweep.ts).
 */
@Injectable()
export class LaunchLinks {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
    private readonly config: HttpConfig,
    private readonly secrets: Secrets,
    private readonly keys: SigningKeys,
    private readonly queryBus: QueryBus,
  ) {}

  /**
   * Issues a launch URL.
   * @throws DomainError eligibility_not_found (also for another account's record), launch_not_available
   */
  async issue(svcEligibilityId: string, caller: Caller) {
    const now = this.clock.now();
    const record = await this.queryBus.execute(new FindLaunchSubject(svcEligibilityId, now));
    if (!record || !(caller.isOperator || caller.accountCodes.has(record.account_code)))
      throw eligibilityNotFound.error();
    if (record.launch_url === null) throw launchNotAvailable.error();
    assertNotEarly(record, now);
    const token = this.secrets.token();
    const expiresAt = new Date(now.getTime() + LAUNCH_LIFE_S * 1000);
    await this.unitOfWork.run(async () => {
      await this.database.execute(ISSUE, [sha256(token), svcEligibilityId, expiresAt]);
      this.unitOfWork.audit('launch.issue', svcEligibilityId, { accountCode: record.account_code });
    });
    return { record, expiresAt, launchUrl: `${this.config.baseUrl}/launch/${token}` };
  }

  /**
   * Redeems a launch URL. Returns the address of the test to which the candidate is redirected.
   * @throws DomainError not_found, launch_gone, launch_not_available
   */
  async redeem(token: string): Promise<string> {
    if (!GENERATED_TOKEN.test(token)) throw notFound.error();
    const now = this.clock.now();
    const hash = sha256(token);
    const address = await this.unitOfWork.run(async () => {
      const launch = await this.database.queryOne<{ svc_eligiblity_id: string }>(REDEEM, [hash, now]);
      if (!launch) return null;
      const record = await this.queryBus.execute(new FindLaunchSubject(launch.svc_eligiblity_id, now));
      // Each refusal of a launch rolls back the redemption of the launch URL. A click while the exam is on hold, or
      // after its booking was moved, therefore does not use up the URL.
      if (record?.held) throw launchNotAvailable.error({ detail: 'The exam is on hold. Ask the exam’s organiser.' });
      // The launch address is null if the record was cancelled or closed after the URL was issued.
      if (!record?.launch_url) throw launchGone.error();
      assertNotEarly(record, now);
      await this.database.execute(FORGET_USED, [launch.svc_eligiblity_id, new Date(now.getTime() - USED_KEPT_MS)]);
      this.unitOfWork.audit('launch.redeem', launch.svc_eligiblity_id, { accountCode: record.account_code });
      const target = new URL(record.launch_url);
      target.searchParams.set('launch_token', await this.statement(record, target, now));
      return target.toString();
    });
    if (address === null)
      throw (await this.database.queryOne(IS_KNOWN, [hash])) ? launchGone.error() : notFound.error();
    return address;
  }

  private async statement(record: LaunchSubject, target: URL, now: Date): Promise<string> {
    const issuedAt = Math.floor(now.getTime() / 1000);
    return this.keys.sign({
      exam_code: record.svc_eligiblity_id,
      booking_code: record.booking_code,
      iss: this.config.baseUrl,
      aud: target.origin,
      sub: record.candidate_id,
      jti: uuid(),
      iat: issuedAt,
      exp: issuedAt + TOKEN_LIFE_S,
    });
  }
}

/**
 * Refuses a launch before the earliest time at which the exam can be launched.
 * @throws DomainError launch_not_available, with `available_from`
 */
function assertNotEarly({ available_from: from }: LaunchSubject, now: Date): void {
  if (from === null || now >= from) return;
  const available_from = formatDateTime(from);
  throw launchNotAvailable.error({
    detail: `The exam can be launched from ${available_from} on.`,
    members: { available_from },
  });
}

@QueryHandler(FindLaunchTime)
export class FindLaunchTimeHandler implements IQueryHandler<FindLaunchTime> {
  constructor(private readonly database: Database) {}

  async execute({ svcEligibilityId }: FindLaunchTime): Promise<Date | null> {
    const row = await this.database.queryOne<{ used_at: Date | null }>(LAUNCH_TIME, [svcEligibilityId]);
    return row?.used_at ?? null;
  }
}
