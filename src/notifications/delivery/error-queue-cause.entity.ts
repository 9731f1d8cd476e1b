import { Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * The number of notifications in the error queue for each cause. The table has no key: a trigger on `notifications`
 * appends changes to these numbers, and readers add them up.
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
