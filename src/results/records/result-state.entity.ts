import { Column, Entity, PrimaryColumn } from 'typeorm';

export const RESULT_STATES = ['RELEASED', 'HELD', 'REVOKED'] as const;
export type ResultState = (typeof RESULT_STATES)[number];

/** The state of an exam's result after an operator's decision. A result without a row is RELEASED. */
@Entity('result_states')
export class ResultStateRow {
  @PrimaryColumn('text')
  svc_eligiblity_id: string;

  @PrimaryColumn('text')
  account_code: string;

  @Column('text')
  state: ResultState;

  @Column('text')
  reason: string;
}
