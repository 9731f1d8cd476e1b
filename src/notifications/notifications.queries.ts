import { Query } from '@nestjs/cqrs';
import type { AllowedAccounts } from '../platform/context/caller.js';
import type { PartnerDelivery, PartnerHealth, SubscriptionState } from './subscriptions/subscription.entity.js';

export const EXAM_IN = ['past', '2h', '24h', '7d', 'later'] as const;
export type ExamIn = (typeof EXAM_IN)[number];

/** The number of an account's undelivered notifications, by the time until the exam. */
export interface UndeliveredCount {
  readonly account_code: string;
  readonly exam_in: ExamIn;
  readonly count: number;
  /** The creation time of the oldest notification that `count` includes. */
  readonly oldest: Date;
}

/** Asks for the counts of undelivered notifications in all accounts. Large counts may be a few seconds old. */
export class CountUndelivered extends Query<readonly UndeliveredCount[]> {}

/** The number of attempts to all partners of an account in one hour. */
export interface AttemptCount {
  readonly account_code: string;
  readonly from: Date;
  readonly delivered: number;
  readonly failed: number;
}

/**
 * Asks for the number of attempts in each of the last 24 hours, for each account. Large counts may be a few seconds
 * old.
 */
export class CountAttempts extends Query<readonly AttemptCount[]> {}

/** The condition of a partner, as its queue and its newest attempts show it. */
export interface PartnerCondition {
  readonly subscription_id: string;
  readonly account_code: string;
  readonly subscription_name: string | null;
  /** The partner's address; null if the partner polls and has no address. */
  readonly partner_url: string | null;
  readonly delivery: PartnerDelivery;
  readonly state: SubscriptionState;
  readonly health: PartnerHealth;
  readonly health_changed_at: Date | null;
  readonly next_probe_at: Date | null;
  readonly paused_from: Date | null;
  readonly paused_until: Date | null;
  readonly pace: number | null;
  readonly certificate_not_after: Date | null;
  /** The number of the partner's notifications in the error queue. */
  readonly queued: number;
  /** The time of the first failed attempt after the last success; null if no attempt failed since then. */
  readonly failing_since: Date | null;
}

/** Asks for the condition of the partners in all accounts. */
export class SurveyPartners extends Query<readonly PartnerCondition[]> {}

/**
 * Asks for the bulk jobs that have not ended, as `GET /admin/jobs` shows them, newest first. A job is returned only if
 * the caller may see all of its accounts.
 */
export class FindActiveJobs extends Query<readonly object[]> {
  constructor(
    readonly most: number,
    readonly allowedAccounts: AllowedAccounts,
  ) {
    super();
  }
}

/** A bulk job that has not ended, with a value that changes when the job progresses. */
export interface JobMark {
  /**
   * The accounts that the job concerns; null means any account, so only operators with access to all accounts may see
   * it.
   */
  readonly account_codes: readonly string[] | null;
  /** A value that changes whenever the bulk job progresses. */
  readonly mark: string;
}

/** Asks for the progress marks of the active jobs in all accounts. */
export class MarkActiveJobs extends Query<readonly JobMark[]> {}
