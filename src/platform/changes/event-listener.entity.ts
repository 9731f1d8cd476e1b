import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { RecordChangeName } from './change.entity.js';

/**
 * A listener for changes to an account's eligibility records: a subscription that may receive notifications. A trigger
 * on `subscriptions` keeps the rows of this table up to date.
 */
@Entity('event_listeners')
export class EventListener {
  @PrimaryColumn('text')
  account_code: string;

  @PrimaryColumn('uuid')
  listener: string;

  @Column('text', { array: true })
  changes: RecordChangeName[];
}

/**
 * The sequence number of the latest event of an eligibility record. The row is created when the record changes for the
 * first time while a subscription listens.
 */
@Entity('event_streams')
export class EventStream {
  /** The `svc_eligiblity_id` of the record. */
  @PrimaryColumn('text')
  stream: string;

  @Column('int')
  sequence: number;
}
