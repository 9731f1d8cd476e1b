import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The user that somebody is here who signs in at an identity provider. */
@Entity('operator_identities')
export class OperatorIdentity {
  @PrimaryColumn('text')
  issuer: string;

  /** Who it is there; names and addresses may change hands. */
  @PrimaryColumn('text')
  subject: string;

  @Column('text')
  username: string;
}
