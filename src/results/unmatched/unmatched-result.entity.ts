import { Column, Entity, PrimaryColumn } from 'typeorm';

import type { KeptFault } from '../body/result-judgement.js';
import type { ResultSource } from '../body/results.rules.js';

/**
 * An unmatched result, which is a body that was refused because its form was invalid or because it matched no exam. The
 * result is kept until an operator accepts it for an exam, or until its retention period is over.
 */
@Entity('unmatched_results')
export class UnmatchedResult {
  @PrimaryColumn('uuid')
  id: string;

  @Column({ type: 'bigint', insert: false, update: false })
  position: number;

  @Column('text')
  source: ResultSource;

  /** The account in the path of the delivery request; null for a registration result, whose path has no account. */
  @Column('text', { nullable: true })
  account_code: string | null;

  /**
   * Every account to which the result may belong. If the path of the delivery request contains an account, the list
   * contains only this account. Otherwise, it contains the accounts of the sender and the account of the exam that the
   * result names.
   */
  @Column('text', { array: true, default: '{}' })
  account_codes: string[];

  /**
   * The accounts whose staff may read and settle the result. This is the account in the path of the delivery request
   * or, if the path has none, the account of the exam that the result names. The account of the sender is added if the
   * sender has only one account.
   */
  @Column('text', { array: true, default: '{}' })
  staff_account_codes: string[];

  /** The code of the error that caused the refusal of the body, such as `registration_not_found`. */
  @Column('text')
  code: string;

  @Column('text')
  username: string;

  /** The validation errors that were found in the result's body. */
  @Column('json', { default: [] })
  faults: KeptFault[];

  /**
   * The JSON text of the body as received, without the photo, the video link and the credentials; null if the bytes are
   * in `raw`.
   */
  @Column('text', { nullable: true })
  body: string | null;

  /** The encrypted bytes of a body that is not a JSON object; null for any other body. */
  @Column('bytea', { nullable: true })
  raw: Buffer | null;

  @Column('bytea')
  body_hash: Buffer;

  /** The encrypted JSON text of the photo member's value. */
  @Column('bytea', { nullable: true })
  photo: Buffer | null;

  /** The encrypted JSON text of the video link member's value. */
  @Column('bytea', { nullable: true })
  video_link: Buffer | null;

  /** The encrypted JSON text of the members that contain credentials. */
  @Column('bytea', { nullable: true })
  credentials: Buffer | null;

  @Column('timestamptz')
  received_datetime: Date;

  /** The time of the latest delivery of the same body; null if the body was delivered only once. */
  @Column('timestamptz', { nullable: true })
  repeated_datetime: Date | null;

  @Column('timestamptz', { nullable: true })
  accepted_datetime: Date | null;

  /** The reason that the operator gave for accepting the result for the exam. */
  @Column('text', { nullable: true })
  accept_reason: string | null;

  /**
   * How the result was assigned to its exam: by an operator (OPERATOR), or when the same body was delivered again and
   * matched (MATCHED).
   */
  @Column('text', { nullable: true })
  settled_by: 'OPERATOR' | 'MATCHED' | null;

  /** The time at which an operator rejected the result. It may still be accepted later. */
  @Column('timestamptz', { nullable: true })
  rejected_datetime: Date | null;

  @Column('text', { nullable: true })
  rejected_by: string | null;

  @Column('text', { nullable: true })
  reject_reason: string | null;

  /** The exam for which the result was accepted; null until the result is accepted. */
  @Column('text', { nullable: true })
  svc_eligiblity_id: string | null;
}
