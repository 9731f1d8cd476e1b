import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The driver's name for a registration: one per registration, and unique in the account in any case. */
@Entity('registration_locators')
export class RegistrationLocator {
  @PrimaryColumn('text')
  svc_eligiblity_id: string;

  @Column('text')
  account_code: string;

  @Column('text')
  locator: string;

  /** The locator in lower case, for comparison. */
  @Column('text')
  locator_key: string;
}
