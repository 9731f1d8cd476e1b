import { Column, Entity, PrimaryColumn } from 'typeorm';

import type { KeptFault } from '../body/result-judgement.js';
import type { ResultSource } from '../body/results.rules.js';

/**
 * A revision of an exam's result, which is a body that was accepted. The row never changes, except that personal data
 * is erased from it.
 */
@Entity('result_revisions')
export class ResultRevision {
  @PrimaryColumn('text')
  svc_eligiblity_id: string;

  /**
   * The number of the revision within its exam: 1, 2, 3 … Registration results and account results are numbered
   * together.
   */
  @PrimaryColumn('int')
  revision: number;

  /** A number by which the revisions of all exams are sorted. Each new revision gets a higher number. */
  @Column({ type: 'bigint', insert: false, update: false })
  position: number;

  @Column('text')
  account_code: string;

  @Column('text')
  source: ResultSource;

  /** The JSON text of the body as received, without the photo, the video link and the credentials. */
  @Column('text')
  body: string;

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

  /**
   * The validation errors of known members that do not affect acceptance. The body was accepted despite these errors.
   */
  @Column('json', { default: [] })
  faults: KeptFault[];

  @Column('text', { nullable: true })
  result_id: string | null;

  @Column('boolean')
  simulated: boolean;

  /** The name of the user who delivered the result. */
  @Column('text')
  username: string;

  @Column('timestamptz')
  received_datetime: Date;
}
