import { Entity, PrimaryColumn } from 'typeorm';

/**
 * A text by which operators find a record. The database keeps these rows equal to the records' names, phone numbers and
 * postal codes (triggers of `eligibilities`).
 */
@Entity('eligibility_search_keys')
export class SearchKey {
  @PrimaryColumn('text')
  account_code: string;

  @PrimaryColumn('text', { collation: 'C' })
  key: string;

  @PrimaryColumn('text')
  svc_eligiblity_id: string;
}
