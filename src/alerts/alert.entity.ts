import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { ConditionName } from './conditions.js';

export type AlertKind = 'EMAIL' | 'WEBHOOK';

/** An alert informs people by mail, or calls a webhook, when one of its conditions holds. */
@Entity('alerts')
export class Alert {
  @PrimaryColumn('text')
  name: string;

  @Column({ type: 'bigint', insert: false, update: false })
  position: number;

  @Column('text')
  kind: AlertKind;

  /** The mail addresses of an EMAIL alert; null for a WEBHOOK. */
  @Column('text', { array: true, nullable: true })
  recipients: string[] | null;

  @Column('text', { nullable: true })
  url: string | null;

  @Column('text', { array: true, default: '{}' })
  header_names: string[];

  /** The values of the headers as an encrypted JSON list, in the same order as the header names. */
  @Column('bytea', { nullable: true })
  header_values: Buffer | null;

  /** The accounts whose conditions are reported; null for all accounts. */
  @Column('text', { array: true, nullable: true })
  watched_accounts: string[] | null;

  @Column('text', { array: true })
  conditions: ConditionName[];

  @Column('int')
  quiet_s: number;

  @Column('boolean')
  disabled: boolean;

  /** The time at which the alert was created or last enabled. Recoveries before this time are not reported. */
  @Column('timestamptz')
  active_from: Date;

  /** The number of consecutive failures to send a message. */
  @Column('int', { default: 0 })
  failures: number;

  /** The earliest time at which a message may be sent again after a failure. */
  @Column('timestamptz', { nullable: true })
  retry_datetime: Date | null;

  /** The fencing token of the process that sends the alert's messages. */
  @Column('bigint', { nullable: true })
  lease_token: number | null;

  @Column('timestamptz', { nullable: true })
  leased_until: Date | null;

  @Column('timestamptz', { nullable: true })
  last_sent_datetime: Date | null;

  /**
   * The cause of the last failure to send a message; null after a success. The text contains no address and no secret.
   */
  @Column('text', { nullable: true })
  last_error: string | null;

  @Column('timestamptz', { nullable: true })
  last_error_datetime: Date | null;

  @Column('timestamptz')
  created_datetime: Date;

  @Column('timestamptz')
  updated_datetime: Date;
}
