import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The driver's name for a registration: one each, and unique in the account in any case. */
@Entity('registration_locators')
export class RegistrationLocator {
  @PrimaryColumn('text')
  svc_eligiblity_id: string;

  @Column('text')
  account_code: string;

  @Column('text')
  locator: string;

  /** The locator in lower case: what is compared. */
  @Column('text')
  locator_key: string;
}
