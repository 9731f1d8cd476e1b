import { Query } from '@nestjs/cqrs';
import type { Reach } from '../platform/context/caller.js';
import type { PartnerHealth, SubscriptionState } from './subscriptions/subscription.entity.js';

export const EXAM_IN = ['past', '2h', '24h', '7d', 'later'] as const;
export type ExamIn = (typeof EXAM_IN)[number];

/** The number of an account's undelivered notifications, by the time until the exam. */
export interface UndeliveredCount {
  readonly account_code: string;
  readonly exam_in: ExamIn;
  readonly count: number;
  /** The creation time of the oldest one. */
  readonly oldest: Date;
}

/** Asks for the counts of all accounts; a large count may be some seconds old. */
export class CountUndelivered extends Query<readonly UndeliveredCount[]> {}

/** The attempts to all partners of an account in one hour. */
export interface AttemptCount {
  readonly account_code: string;
  readonly from: Date;
  readonly delivered: number;
  readonly failed: number;
}

/** Asks for the last 24 hours of all accounts; a large count may be some seconds old. */
export class CountAttempts extends Query<readonly AttemptCount[]> {}

/** The condition of a partner. */
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
  /** The number of notifications in the error queue. */
  readonly queued: number;
  /**
   * The start of the current series of failures, among the newest twenty attempts of the last day; null after a success
   * or without attempts.
   */
  readonly failing_since: Date | null;
}

/** Asks for the conditions of all partners of all accounts. */
export class SurveyPartners extends Query<readonly PartnerCondition[]> {}

/**
 * Asks for the bulk jobs that have not ended, as `GET /admin/jobs` shows them, newest first. All accounts of a job must
 * be visible to the caller.
 */
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
  /** The accounts of the job; null means any account: only operators may see it. */
  readonly account_codes: readonly string[] | null;
  /** Changes whenever the job progresses. */
  readonly mark: string;
}

/** Asks for the jobs of all accounts. */
export class MarkActiveJobs extends Query<readonly JobMark[]> {}
