import { Injectable } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { CountWaiting, type WaitingCount } from '../eligibility/eligibility.queries.js';
import { MarkImports, type ImportMark } from '../imports/imports.queries.js';
import {
  CountAttempts,
  CountUndelivered,
  MarkActiveJobs,
  SurveyPartners,
  type AttemptCount,
  type JobMark,
  type PartnerCondition,
  type UndeliveredCount,
} from '../notifications/notifications.queries.js';
import { Clock } from '../platform/clock.js';
import type { AllowedAccounts } from '../platform/context/caller.js';
import { CountUnmatched, type UnmatchedCount } from '../results/results.queries.js';

const FRESH_MS = 1_000;
/** The maximum share of the time in which the database may run the counting query, if that query is slow. */
const SHARE = 1 / 4;

/** The counts that the console's overview shows, limited to the accounts of a caller. */
export interface Snapshot {
  readonly at: Date;
  readonly undelivered: readonly UndeliveredCount[];
  readonly attempts: readonly AttemptCount[];
  readonly partners: readonly PartnerCondition[];
  readonly waiting: readonly WaitingCount[];
  readonly unmatched: readonly UnmatchedCount[];
  readonly jobs: readonly JobMark[];
  readonly imports: readonly ImportMark[];
}

/**
 * Counts the work that waits for operators. However many operators ask, the counting query runs about once a second,
 * and less often if the query is slow. One query counts the work of all accounts. Each caller gets only the counts of
 * the caller's own accounts.
 */
@Injectable()
export class Snapshots {
  private newest: Snapshot | null = null;
  private underWay: Promise<Snapshot> | null = null;
  private notBefore = 0;

  constructor(
    private readonly queryBus: QueryBus,
    private readonly clock: Clock,
  ) {}

  /** Returns the newest counts of pending work, limited to the given accounts. */
  async of(allowedAccounts: AllowedAccounts): Promise<Snapshot> {
    return limitedTo(await this.acrossAccounts(), allowedAccounts);
  }

  /** Queries the newest counts of pending work, and returns a function that limits the counts to the given accounts. */
  async read(): Promise<(allowedAccounts: AllowedAccounts) => Snapshot> {
    const newest = await this.acrossAccounts();
    return (allowedAccounts) => limitedTo(newest, allowedAccounts);
  }

  private async acrossAccounts(): Promise<Snapshot> {
    if (this.newest && performance.now() < this.notBefore) return this.newest;
    return (this.underWay ??= this.count().finally(() => (this.underWay = null)));
  }

  private async count(): Promise<Snapshot> {
    const begun = performance.now();
    const at = this.clock.now();
    const [undelivered, attempts, partners, waiting, unmatched, jobs, imports] = await Promise.all([
      this.queryBus.execute(new CountUndelivered()),
      this.queryBus.execute(new CountAttempts()),
      this.queryBus.execute(new SurveyPartners()),
      this.queryBus.execute(new CountWaiting()),
      this.queryBus.execute(new CountUnmatched()),
      this.queryBus.execute(new MarkActiveJobs()),
      this.queryBus.execute(new MarkImports()),
    ]);
    this.newest = { at, undelivered, attempts, partners, waiting, unmatched, jobs, imports };
    const now = performance.now();
    this.notBefore = now + Math.max(FRESH_MS, (now - begun) / SHARE);
    return this.newest;
  }
}

function limitedTo(across: Snapshot, allowedAccounts: AllowedAccounts): Snapshot {
  if (allowedAccounts === null) return across;
  const ofAccount = ({ account_code }: { readonly account_code: string }) => allowedAccounts.includes(account_code);
  return {
    at: across.at,
    undelivered: across.undelivered.filter(ofAccount),
    attempts: across.attempts.filter(ofAccount),
    partners: across.partners.filter(ofAccount),
    waiting: across.waiting.filter(ofAccount),
    unmatched: across.unmatched.filter(({ account_codes }) =>
      account_codes.some((code) => allowedAccounts.includes(code)),
    ),
    jobs: across.jobs.filter(
      ({ account_codes }) => account_codes?.every((code) => allowedAccounts.includes(code)) ?? false,
    ),
    imports: across.imports.filter(ofAccount),
  };
}
