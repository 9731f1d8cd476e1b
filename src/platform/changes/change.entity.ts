import { Column, Entity, PrimaryColumn } from 'typeorm';

export const CHANGE_KINDS = ['ELIGIBILITY', 'BOOKING', 'RESULT'] as const;
export type ChangeKind = (typeof CHANGE_KINDS)[number];

export const CHANGES = [
  'CREATED',
  'UPDATED',
  'HELD',
  'RELEASED',
  'APPROVED',
  'SCHEDULED',
  'RESCHEDULED',
  'BOOKING_CANCELLED',
  'ABSENT',
  'EXCUSED_ABSENT',
  'EXPIRED',
  'COMPLETED',
  'CANCELLED',
  'EXPIRING',
  'RESULT_RECEIVED',
  'RESULT_REVISED',
  'RESULT_HELD',
  'RESULT_RELEASED',
  'RESULT_REVOKED',
  'ERASED',
] as const;
export type Change = (typeof CHANGES)[number];

/**
 * The changes that a subscription may select in `record_changes`. Each kind of change has a class of events
 * (record-event.ts).
 */
export const RECORD_CHANGES = [
  'CREATED',
  'UPDATED',
  'APPROVED',
  'HELD',
  'RELEASED',
  'CANCELLED',
  'EXPIRING',
  'EXPIRED',
  'RESULT_REVISED',
  'RESULT_HELD',
  'RESULT_RELEASED',
  'RESULT_REVOKED',
  'ERASED',
] as const satisfies readonly Change[];
export type RecordChangeName = (typeof RECORD_CHANGES)[number];

export function isRecordChange(change: string): change is RecordChangeName {
  return (RECORD_CHANGES as readonly string[]).includes(change);
}

/**
 * An entry of the change feed; {@link ./change-log.ts} explains the order of entries. The table is partitioned by
 * month.
 */
@Entity('changes')
export class ChangeRow {
  @Column('text')
  account_code: string;

  @Column('text')
  kind: ChangeKind;

  @PrimaryColumn('bigint')
  generation: number;

  @PrimaryColumn('bigint')
  xid: number;

  @PrimaryColumn({ type: 'bigint', insert: false, update: false })
  position: number;

  @Column('timestamptz')
  recorded_at: Date;

  @Column('timestamptz')
  at: Date;

  @Column('text')
  change: Change;

  @Column('text')
  svc_eligiblity_id: string;

  @Column('text')
  candidate_id: string;

  @Column('text')
  test_code: string;

  @Column('text', { nullable: true })
  booking_code: string | null;

  /** The status of the record after the change. */
  @Column('text')
  status: string;

  @Column('int', { nullable: true })
  revision: number | null;

  @Column('int', { nullable: true })
  event_sequence: number | null;

  /** The NotificationRequest as partners receive it; null if partners are not notified. */
  @Column('json', { nullable: true })
  notification: object | null;
}

/**
 * The only row of the `change_epoch` table, which identifies the database. A restored copy of the database gets a new
 * epoch.
 */
@Entity('change_epoch')
export class ChangeEpoch {
  @PrimaryColumn('boolean', { default: true })
  only_row: boolean;

  @Column('bigint')
  epoch: number;

  /**
   * The identifier of the PostgreSQL cluster. Together with the identifier of the table (`table_oid`), it shows whether
   * a dump was restored.
   */
  @Column('text')
  system_identifier: string;

  @Column('bigint')
  table_oid: number;

  /** The end of the newest month whose partition of the change feed was dropped; null if none was dropped. */
  @Column('timestamptz', { nullable: true })
  dropped_until: Date | null;
}
