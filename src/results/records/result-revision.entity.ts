import { Column, Entity, PrimaryColumn } from 'typeorm';

import type { KeptFault } from '../body/result-judgement.js';
import type { ResultSource } from '../body/results.rules.js';

/** One accepted body. Written once, never changed. */
@Entity('result_revisions')
export class ResultRevision {
  @PrimaryColumn('text')
  svc_eligiblity_id: string;

  /** 1, 2, 3 … for each exam, across both sources. */
  @PrimaryColumn('int')
  revision: number;

  /** Newer revisions have higher ones, whatever their exam. */
  @Column({ type: 'bigint', insert: false, update: false })
  position: number;

  @Column('text')
  account_code: string;

  @Column('text')
  source: ResultSource;

  /** The JSON text as it came, without photo and video link. */
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

  /** Of known members that decide nothing: the body was accepted with them. */
  @Column('json', { default: [] })
  faults: KeptFault[];

  @Column('text', { nullable: true })
  result_id: string | null;

  @Column('boolean')
  simulated: boolean;

  /** The user who delivered it. */
  @Column('text')
  username: string;

  @Column('timestamptz')
  received_datetime: Date;
}
