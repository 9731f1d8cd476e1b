import { Column, Entity, PrimaryColumn } from 'typeorm';

import type { KeptFault } from '../body/result-judgement.js';
import type { ResultSource } from '../body/results.rules.js';

/**
 * A refused body: its form was wrong, or it matched no exam. It is kept until an operator accepts it for an exam or its
 * period is over.
 */
@Entity('unmatched_results')
export class UnmatchedResult {
  @PrimaryColumn('uuid')
  id: string;

  @Column({ type: 'bigint', insert: false, update: false })
  position: number;

  @Column('text')
  source: ResultSource;

  /** The account of the path; null for a registration result, whose path names none. */
  @Column('text', { nullable: true })
  account_code: string | null;

  /**
   * Every account that the result may belong to: the account of its path, else the accounts of its sender and of the
   * exam that it names.
   */
  @Column('text', { array: true, default: '{}' })
  account_codes: string[];

  /**
   * The accounts whose staff may read and settle the result: the account of its path, else the account of the named
   * exam. The sender's account is added if the sender belongs to a single account.
   */
  @Column('text', { array: true, default: '{}' })
  staff_account_codes: string[];

  /** The code of the problem that refused the body. */
  @Column('text')
  code: string;

  @Column('text')
  username: string;

  /** The faults of its form. */
  @Column('json', { default: [] })
  faults: KeptFault[];

  /** The JSON text as received, without photo, video link and credentials; null when `raw` has the bytes. */
  @Column('text', { nullable: true })
  body: string | null;

  /** Encrypted bytes of a body that is not a JSON object. */
  @Column('bytea', { nullable: true })
  raw: Buffer | null;

  @Column('bytea')
  body_hash: Buffer;

  /** Encrypted JSON text of the member's value. */
  @Column('bytea', { nullable: true })
  photo: Buffer | null;

  /** Encrypted JSON text of the member's value. */
  @Column('bytea', { nullable: true })
  video_link: Buffer | null;

  /** Encrypted JSON text of the credentials. */
  @Column('bytea', { nullable: true })
  credentials: Buffer | null;

  @Column('timestamptz')
  received_datetime: Date;

  @Column('timestamptz', { nullable: true })
  accepted_datetime: Date | null;

  /** The operator's reason for accepting the body for the exam. */
  @Column('text', { nullable: true })
  accept_reason: string | null;

  /** How the exam was found: by an operator, or by another delivery of the same body. */
  @Column('text', { nullable: true })
  settled_by: 'OPERATOR' | 'MATCHED' | null;

  /** The time at which an operator rejected the result; it may still be accepted. */
  @Column('timestamptz', { nullable: true })
  rejected_datetime: Date | null;

  @Column('text', { nullable: true })
  rejected_by: string | null;

  @Column('text', { nullable: true })
  reject_reason: string | null;

  /** The exam for which the result was accepted. */
  @Column('text', { nullable: true })
  svc_eligiblity_id: string | null;
}
