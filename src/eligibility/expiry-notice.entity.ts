import { Entity, PrimaryColumn } from 'typeorm';

/** An announcement of the end of a record's window (EXPIRING). The row prevents a second announcement. */
@Entity('expiry_notices')
export class ExpiryNotice {
  @PrimaryColumn('text')
  svc_eligiblity_id: string;

  @PrimaryColumn('text')
  account_code: string;

  /** The announced end of the window. If the end changes, the new end is announced as well. */
  @PrimaryColumn('timestamptz')
  eligibility_end_date: Date;

  /** The number of days before the end, from the account's `expiring_days`. */
  @PrimaryColumn('int')
  days: number;
}
