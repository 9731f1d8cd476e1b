import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A `result_id` that was accepted in an account, with the exam of its result. */
@Entity('account_result_ids')
export class AccountResultId {
  @PrimaryColumn('text')
  account_code: string;

  @PrimaryColumn('text')
  result_id: string;

  @Column('text')
  svc_eligiblity_id: string;
}
