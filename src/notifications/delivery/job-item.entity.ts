import { Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * WAITING: the attempt has not started. SENT: the attempt has started and is not yet recorded. The other outcomes are
 * final.
 */
export const ITEM_OUTCOMES = ['WAITING', 'SENT', 'DELIVERED', 'FAILED', 'SKIPPED', 'RESOLVED'] as const;
export type ItemOutcome = (typeof ITEM_OUTCOMES)[number];

/** A notification of a bulk job. */
@Entity('job_items')
export class JobItem {
  @PrimaryColumn('uuid')
  job_id: string;

  @PrimaryColumn('bigint')
  notification_position: number;

  @Column('uuid')
  subscription_id: string;

  @Column('text', { default: 'WAITING' })
  outcome: ItemOutcome;
}
