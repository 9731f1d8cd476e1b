import { SignJWT } from 'jose';
import { Injectable } from '@nestjs/common';
import { v4 as uuid } from 'uuid';
import { Config } from '../config.js';
import { Clock } from '../platform/clock.js';
import { Database, prepared } from '../platform/database/database.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { notFound } from '../platform/errors.js';
import type { Caller } from '../platform/http/access.js';
import { randomToken, sha256 } from '../platform/secrets.js';
import { Eligibility } from './eligibility.entity.js';
import { eligibilityNotFound, launchGone, launchNotAvailable } from './eligibility.errors.js';
import { isInWindow, mayTrigger, statusAt } from './eligibility.rules.js';
import { LaunchKeys } from './launch-keys.js';

const LAUNCH_LIFE_S = 300;
const TOKEN_LIFE_S = 60;
const TOKEN_FORM = /^[A-Za-z0-9_-]{43}$/;

const FIND = prepared(
  'launch-find-eligibility',
  `SELECT eligibility.*, test.launch_url FROM eligibilities eligibility JOIN tests test USING (account_code, test_code)
   WHERE svc_eligiblity_id = $1`,
);
const ISSUE = prepared(
  'launch-issue',
  'INSERT INTO launches (token_hash, svc_eligiblity_id, expires_at) VALUES ($1, $2, $3)',
);
// One statement decides: of two redemptions at once one finds the row unused.
const REDEEM = prepared(
  'launch-redeem',
  `UPDATE launches SET used_at = $2 WHERE token_hash = $1 AND used_at IS NULL AND expires_at > $2
   RETURNING svc_eligiblity_id`,
);
const IS_KNOWN = prepared('launch-known', 'SELECT 1 FROM launches WHERE token_hash = $1');

type Launchable = Eligibility & { launch_url: string | null };

/** Issues launch URLs and turns each, once, into the test's address with a signed statement of who comes. */
@Injectable()
export class Launch {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
    private readonly config: Config,
    private readonly keys: LaunchKeys,
  ) {}

  /** @throws DomainError eligibility_not_found (also for another account's record), launch_not_available */
  async issue(svcEligibilityId: string, caller: Caller) {
    const record = await this.database.queryOne<Launchable>(FIND, [svcEligibilityId]);
    if (!record || !(caller.isOperator || caller.accountCodes.has(record.account_code)))
      throw eligibilityNotFound.error();
    const now = this.clock.now();
    if (!isLaunchable(record, now)) throw launchNotAvailable.error();
    const token = randomToken();
    const expiresAt = new Date(now.getTime() + LAUNCH_LIFE_S * 1000);
    await this.unitOfWork.run(async () => {
      await this.database.execute(ISSUE, [sha256(token), svcEligibilityId, expiresAt]);
      this.unitOfWork.audit('launch.issue', svcEligibilityId);
    });
    return { record, expiresAt, launchUrl: `${this.config.baseUrl}/launch/${token}` };
  }

  /** The address to send the candidate to. @throws DomainError not_found, launch_gone */
  async redeem(token: string): Promise<string> {
    if (!TOKEN_FORM.test(token)) throw notFound.error();
    const now = this.clock.now();
    const hash = sha256(token);
    const launch = await this.database.queryOne<{ svc_eligiblity_id: string }>(REDEEM, [hash, now]);
    if (!launch) throw (await this.database.queryOne(IS_KNOWN, [hash])) ? launchGone.error() : notFound.error();
    const record = await this.database.queryOne<Launchable>(FIND, [launch.svc_eligiblity_id]);
    // The record may have been cancelled or closed since the URL was issued.
    if (!record || !isLaunchable(record, now)) throw launchGone.error();
    const target = new URL(record.launch_url!);
    target.searchParams.set('launch_token', await this.statement(record, target));
    return target.toString();
  }

  private async statement(record: Eligibility, target: URL): Promise<string> {
    const { kid, privateKey } = await this.keys.signingKey();
    return new SignJWT({ exam_code: record.svc_eligiblity_id, booking_code: record.booking_code })
      .setProtectedHeader({ alg: 'ES256', typ: 'JWT', kid })
      .setIssuer(this.config.baseUrl)
      .setAudience(target.origin)
      .setSubject(record.candidate_id)
      .setJti(uuid())
      .setIssuedAt()
      .setExpirationTime(`${TOKEN_LIFE_S}s`)
      .sign(privateKey);
  }
}

function isLaunchable(record: Launchable, now: Date): boolean {
  return record.launch_url !== null && mayTrigger(statusAt(record, now), 'launch') && isInWindow(record, now);
}
