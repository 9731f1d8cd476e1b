import { Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * The states of a bulk job's notification. WAITING: the attempt has not started. SENT: the attempt has started and its
 * outcome is not yet recorded. The other states are final.
 */
export const ITEM_OUTCOMES = ['WAITING', 'SENT', 'DELIVERED', 'FAILED', 'SKIPPED', 'RESOLVED'] as const;
export type ItemOutcome = (typeof ITEM_OUTCOMES)[number];

/** A notification that a bulk job resends, replays or resolves. */
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
