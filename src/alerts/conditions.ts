/** The conditions that alerts report. */
export const CONDITIONS = [
  'PARTNER_FAILING',
  'PARTNER_DOWN',
  'PARTNER_RECOVERED',
  'EXAM_SOON_UNDELIVERED',
  'UNMATCHED_RESULTS',
  'APPROVALS_WAITING',
  'CERTIFICATE_EXPIRING',
  'AUDIT_BROKEN',
  'DELIVERY_STALLED',
] as const;
export type ConditionName = (typeof CONDITIONS)[number];

/** A condition that holds now, or that ended before the survey. */
export interface Condition {
  readonly condition: ConditionName;
  /** The thing that the condition concerns. An alert reports a condition once for each subject. */
  readonly subject: string;
  /** The accounts that the condition concerns; null if it concerns the whole service. */
  readonly accountCodes: readonly string[] | null;
  readonly since: Date;
  /** The time at which the condition ended, if it ended before the survey; null while it holds. */
  readonly endedAt: Date | null;
  /** A number that grows when the condition gets worse in a way that needs another message. */
  readonly mark: number;
  /** The partner that the condition concerns; null if it concerns no partner. */
  readonly partner: { readonly subscription_id: string; readonly name: string } | null;
  /** The number of waiting items, such as notifications or approvals; null if the condition has no count. */
  readonly count: number | null;
  /** A further time that the message states, which is the start of the first exam or the expiry of a certificate. */
  readonly at: Date | null;
  /** A short string that distinguishes conditions of the same partner, such as the kind of certificate. */
  readonly detail: string | null;
}
