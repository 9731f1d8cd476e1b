import { Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * The number of notifications in the error queue for each cause. A trigger on `notifications` appends each change to
 * this number as a row, so the table has no key. Readers add up the rows.
 */
@Entity('error_queue_causes')
export class ErrorQueueCause {
  @PrimaryColumn('uuid')
  subscription_id: string;

  @PrimaryColumn('text')
  retry: string;

  @Column('text', { nullable: true })
  failure: string | null;

  @Column('text', { nullable: true })
  reason: string | null;

  @Column('int', { nullable: true })
  http_status: number | null;

  @Column('int')
  change: number;
}
