import { Entity, PrimaryColumn } from 'typeorm';

/**
 * A search key, which is a name, a phone number or a postal code by which operators find an eligibility record.
 * Triggers on the `eligibilities` table update the search keys when a record changes.
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
