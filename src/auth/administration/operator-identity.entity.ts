import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The user that somebody is here who signs in at an identity provider. */
@Entity('operator_identities')
export class OperatorIdentity {
  @PrimaryColumn('text')
  issuer: string;

  /** The subject at the provider; names and addresses may change hands. */
  @PrimaryColumn('text')
  subject: string;

  @Column('text')
  username: string;
}

/** A sign-in at the provider that came to its end, kept for as long as it could be tried once more. */
@Entity('finished_sign_ins')
export class FinishedSignIn {
  /** SHA-256 of its state. */
  @PrimaryColumn('bytea')
  state_hash: Buffer;

  @Column('timestamptz')
  forget_at: Date;
}
