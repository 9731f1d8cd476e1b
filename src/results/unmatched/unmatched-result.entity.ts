import { Column, Entity, PrimaryColumn } from 'typeorm';

import type { KeptFault } from '../body/result-judgement.js';
import type { ResultSource } from '../body/results.rules.js';

/** A body that was refused, for its form or because no exam could be found for it, until an operator accepts it for one or its time is over. */
@Entity('unmatched_results')
export class UnmatchedResult {
  @PrimaryColumn('uuid')
  id: string;

  @Column({ type: 'bigint', insert: false, update: false })
  position: number;

  @Column('text')
  source: ResultSource;

  /** That of the path; null for a registration result, which names none. */
  @Column('text', { nullable: true })
  account_code: string | null;

  /** Every account that the result may belong to: of its path, else of its sender and of the exam that it names. */
  @Column('text', { array: true, default: '{}' })
  account_codes: string[];

  /**
   * The accounts whose staff may read and settle the result: of its path, else of the exam that it names, and of its
   * sender if the sender belongs to a single account.
   */
  @Column('text', { array: true, default: '{}' })
  staff_account_codes: string[];

  /** Of the problem that refused it. */
  @Column('text')
  code: string;

  @Column('text')
  username: string;

  /** The faults of its form. */
  @Column('json', { default: [] })
  faults: KeptFault[];

  /** The JSON text as it came, without photo, video link and credentials; null where `raw` has the bytes. */
  @Column('text', { nullable: true })
  body: string | null;

  /** Encrypted bytes of a body that is no JSON object. */
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

  /** Why the operator accepted it for the exam. */
  @Column('text', { nullable: true })
  accept_reason: string | null;

  /** How its exam was found: by an operator, or by the same body that came again. */
  @Column('text', { nullable: true })
  settled_by: 'OPERATOR' | 'MATCHED' | null;

  /** When an operator said that it belongs to no exam; it may be accepted still. */
  @Column('timestamptz', { nullable: true })
  rejected_datetime: Date | null;

  @Column('text', { nullable: true })
  rejected_by: string | null;

  @Column('text', { nullable: true })
  reject_reason: string | null;

  /** The exam that it was accepted for. */
  @Column('text', { nullable: true })
  svc_eligiblity_id: string | null;
}
