import { Column, Entity, PrimaryColumn } from 'typeorm';

@Entity('domain_events')
export class StoredEventRow {
  @PrimaryColumn('uuid')
  event_id: string;

  @Column('text')
  name: string;

  @Column('text')
  account_code: string;

  @Column('text')
  stream: string;

  @Column('int')
  sequence: number;

  /** The data of the event. The `json` column type keeps the text exactly as it was written. */
  @Column('json')
  data: unknown;

  @Column('timestamptz')
  occurred_at: Date;

  @Column('text', { nullable: true })
  traceparent: string | null;

  @Column('timestamptz')
  claimed_until: Date;

  @Column('timestamptz', { nullable: true })
  settled_at: Date | null;

  /**
   * The time at which the event was set aside, because its consumer could not process it. The event is kept for an
   * operator.
   */
  @Column('timestamptz', { nullable: true })
  set_aside_at: Date | null;
}
