import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { ConditionName } from './conditions.js';

/** An alert's condition that holds now, or that was reported recently. */
@Entity('alert_occurrences')
export class AlertOccurrence {
  @PrimaryColumn('text')
  alert_name: string;

  @PrimaryColumn('text')
  condition: ConditionName;

  /** The thing that the condition concerns, such as a subscription or an account. */
  @PrimaryColumn('text')
  subject: string;

  /** Whether the condition held when it was last checked. */
  @Column('boolean')
  is_current: boolean;

  /** The time, by the machine's clock, at which a check first found that the condition holds. */
  @Column('timestamptz')
  seen_datetime: Date;

  /** The latest mark of the condition, which is a number that grows when the condition gets worse (conditions.ts). */
  @Column('bigint', { nullable: true })
  seen_mark: number | null;

  /**
   * The mark of the condition (see `seen_mark`) in the last report; null if the condition has not been reported since
   * it began.
   */
  @Column('bigint', { nullable: true })
  told_mark: number | null;

  /** The time at which the condition was last reported. */
  @Column('timestamptz', { nullable: true })
  told_datetime: Date | null;
}
