import { Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * A record locator, which is the test driver's name for a registration. A registration has at most one locator, which
 * is unique in the account regardless of case.
 */
@Entity('registration_locators')
export class RegistrationLocator {
  @PrimaryColumn('text')
  svc_eligiblity_id: string;

  @Column('text')
  account_code: string;

  @Column('text')
  locator: string;

  /** The record locator in lower case. Record locators are compared in this form. */
  @Column('text')
  locator_key: string;
}
