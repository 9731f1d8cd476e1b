import { Query } from '@nestjs/cqrs';

/** A partner, with the data by which alert messages identify it. */
export interface NamedPartner {
  readonly subscription_id: string;
  readonly account_code: string;
  readonly subscription_name: string | null;
  readonly partner_url: string;
}

/** The signs that a partner needs attention. */
export interface PartnerSigns extends NamedPartner {
  /** The time of the first failed attempt after the last success; null if no attempt has failed since then. */
  readonly failing_since: Date | null;
  /** The time since which the partner is DOWN; null if it is UP. */
  readonly down_since: Date | null;
  /** The end of the last series of failed attempts. Null while attempts fail, and if no attempt has ever failed. */
  readonly recovered_at: Date | null;
  /** The time of the first failed attempt in the series that ended at `recovered_at`. */
  readonly failed_since: Date | null;
  /**
   * The end of the partner's last DOWN period, and the time of the first failed attempt in that period. Both are null
   * while the partner is DOWN.
   */
  readonly was_down_until: Date | null;
  readonly was_down_since: Date | null;
  /** The expiry of the certificate that the partner presented last. */
  readonly certificate_not_after: Date | null;
  /** The expiry of the client certificate that the service presents to the partner. */
  readonly client_certificate_not_after: Date | null;
}

/** Asks for signs that partners need attention, in all accounts. UNVERIFIED partners are left out. */
export class SurveyPartnerSigns extends Query<readonly PartnerSigns[]> {}

/** A partner's undelivered notifications about exams that start soon. */
export interface ExamsSoon extends NamedPartner {
  readonly count: number;
  /** The time at which the oldest of these notifications was created. */
  readonly oldest: Date;
  readonly first_exam_at: Date;
  readonly last_exam_at: Date;
}

/**
 * Asks for the partners with undelivered notifications about exams that start within the given number of hours. A
 * notification counts as undelivered after a failed attempt, or after a minute without an attempt.
 */
export class SurveyExamsSoon extends Query<readonly ExamsSoon[]> {
  constructor(readonly hours: number) {
    super();
  }
}

/**
 * Asks for the time since which delivery has been stalled; null if it is not stalled. Delivery is stalled when due
 * notifications are not sent, or when events are not translated into notifications.
 */
export class FindDeliveryStall extends Query<Date | null> {}
