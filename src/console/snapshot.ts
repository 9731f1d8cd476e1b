import { Injectable } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { CountWaiting, type WaitingCount } from '../eligibility/eligibility.queries.js';
import { MarkImports } from '../imports/imports.queries.js';
import {
  CountAttempts,
  CountUndelivered,
  SurveyPartners,
  type AttemptCount,
  type PartnerCondition,
  type UndeliveredCount,
} from '../notifications/notifications.queries.js';
import { Clock } from '../platform/clock.js';
import type { Reach } from '../platform/context/caller.js';
import { CountUnmatched, type UnmatchedCount } from '../results/results.queries.js';

const FRESH_MS = 1_000;
/** What takes its time has at most this part of it. */
const SHARE = 1 / 4;

/** What all operators look at, of all accounts: counted once for all of them. */
export interface Snapshot {
  readonly at: Date;
  readonly undelivered: readonly UndeliveredCount[];
  readonly attempts: readonly AttemptCount[];
  readonly partners: readonly PartnerCondition[];
  readonly waiting: readonly WaitingCount[];
  readonly unmatched: readonly UnmatchedCount[];
  /** Changes whenever an import goes on. */
  readonly imports: string;
}

/** Counts what needs an operator, however many ask: about once a second, and less often where it takes long. */
@Injectable()
export class Snapshots {
  private newest: Snapshot | null = null;
  private underWay: Promise<Snapshot> | null = null;
  private notBefore = 0;

  constructor(
    private readonly queryBus: QueryBus,
    private readonly clock: Clock,
  ) {}

  async get(): Promise<Snapshot> {
    if (this.newest && performance.now() < this.notBefore) return this.newest;
    return (this.underWay ??= this.count().finally(() => (this.underWay = null)));
  }

  private async count(): Promise<Snapshot> {
    const begun = performance.now();
    const at = this.clock.now();
    const [undelivered, attempts, partners, waiting, unmatched, imports] = await Promise.all([
      this.queryBus.execute(new CountUndelivered()),
      this.queryBus.execute(new CountAttempts()),
      this.queryBus.execute(new SurveyPartners()),
      this.queryBus.execute(new CountWaiting()),
      this.queryBus.execute(new CountUnmatched()),
      this.queryBus.execute(new MarkImports()),
    ]);
    this.newest = { at, undelivered, attempts, partners, waiting, unmatched, imports };
    const now = performance.now();
    this.notBefore = now + Math.max(FRESH_MS, (now - begun) / SHARE);
    return this.newest;
  }
}

/** Those of the rows that concern accounts in reach. */
export function within<Row extends { readonly account_code: string }>(
  rows: readonly Row[],
  reach: Reach,
): readonly Row[] {
  return reach === null ? rows : rows.filter(({ account_code }) => reach.includes(account_code));
}

export function unmatchedWithin(rows: readonly UnmatchedCount[], reach: Reach): readonly UnmatchedCount[] {
  return reach === null ? rows : rows.filter(({ account_codes }) => account_codes.some((code) => reach.includes(code)));
}
