import { Query } from '@nestjs/cqrs';
import type { Reach } from '../platform/context/caller.js';
import type { PartnerHealth, SubscriptionState } from './subscriptions/subscription.entity.js';

export const EXAM_IN = ['past', '2h', '24h', '7d', 'later'] as const;
export type ExamIn = (typeof EXAM_IN)[number];

/** Notifications of an account that their partners do not have, whose exams are so far away. */
export interface UndeliveredCount {
  readonly account_code: string;
  readonly exam_in: ExamIn;
  readonly count: number;
  /** When the oldest of them was made. */
  readonly oldest: Date;
}

/** Of all accounts; counted some seconds ago, where there are many. */
export class CountUndelivered extends Query<readonly UndeliveredCount[]> {}

/** Attempts at all partners of an account in one hour. */
export interface AttemptCount {
  readonly account_code: string;
  readonly from: Date;
  readonly delivered: number;
  readonly failed: number;
}

/** Of the last 24 hours and all accounts; counted some seconds ago, where there are many. */
export class CountAttempts extends Query<readonly AttemptCount[]> {}

/** How a partner does. */
export interface PartnerCondition {
  readonly subscription_id: string;
  readonly account_code: string;
  readonly partner_url: string;
  readonly state: SubscriptionState;
  readonly health: PartnerHealth;
  readonly health_changed_at: Date | null;
  readonly next_probe_at: Date | null;
  readonly paused_from: Date | null;
  readonly paused_until: Date | null;
  readonly pace: number | null;
  readonly certificate_not_after: Date | null;
  /** In the error queue. */
  readonly queued: number;
  /** Since when at least every attempt has failed, of the newest twenty of the last day; null when one has not, or there was none. */
  readonly failing_since: Date | null;
}

/** Of all partners of all accounts. */
export class SurveyPartners extends Query<readonly PartnerCondition[]> {}

/** Bulk jobs that have not ended, as `GET /admin/jobs` shows them, newest first, all of whose accounts are in reach. */
export class FindActiveJobs extends Query<readonly object[]> {
  constructor(
    readonly most: number,
    readonly reach: Reach,
  ) {
    super();
  }
}

/** A bulk job that has not ended. */
export interface JobMark {
  /** The accounts that it concerns; null: any, so that operators alone see it. */
  readonly account_codes: readonly string[] | null;
  /** Changes whenever the job goes on. */
  readonly mark: string;
}

/** Of all accounts. */
export class MarkActiveJobs extends Query<readonly JobMark[]> {}
