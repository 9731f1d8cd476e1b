import { Column, Entity, PrimaryColumn } from 'typeorm';

import type { KeptFault } from '../body/result-judgement.js';
import type { ResultSource } from '../body/results.rules.js';

/** One accepted body; the row never changes. */
@Entity('result_revisions')
export class ResultRevision {
  @PrimaryColumn('text')
  svc_eligiblity_id: string;

  /** 1, 2, 3 … for each exam, across both sources. */
  @PrimaryColumn('int')
  revision: number;

  /** Increases across all exams: newer revisions have higher positions. */
  @Column({ type: 'bigint', insert: false, update: false })
  position: number;

  @Column('text')
  account_code: string;

  @Column('text')
  source: ResultSource;

  /** The JSON text as received, without photo and video link. */
  @Column('text')
  body: string;

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

  /** Faults of known members that decide nothing: the body was accepted in spite of them. */
  @Column('json', { default: [] })
  faults: KeptFault[];

  @Column('text', { nullable: true })
  result_id: string | null;

  @Column('boolean')
  simulated: boolean;

  /** The user who delivered the body. */
  @Column('text')
  username: string;

  @Column('timestamptz')
  received_datetime: Date;
}
