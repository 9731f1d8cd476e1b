import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Links a person at an identity provider to the user of this service. */
@Entity('operator_identities')
export class OperatorIdentity {
  @PrimaryColumn('text')
  issuer: string;

  /**
   * The person's subject at the provider. Names and addresses do not identify a person, because they can pass to other
   * people.
   */
  @PrimaryColumn('text')
  subject: string;

  @Column('text')
  username: string;
}

/** A completed sign-in at the identity provider. The row is kept for as long as the sign-in could be replayed. */
@Entity('finished_sign_ins')
export class FinishedSignIn {
  /** SHA-256 of the `state` parameter of the sign-in. */
  @PrimaryColumn('bytea')
  state_hash: Buffer;

  @Column('timestamptz')
  forget_at: Date;
}
