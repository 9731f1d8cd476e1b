import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The local user of a person who signs in at an identity provider. */
@Entity('operator_identities')
export class OperatorIdentity {
  @PrimaryColumn('text')
  issuer: string;

  /** The subject at the provider; names and addresses can pass to other people. */
  @PrimaryColumn('text')
  subject: string;

  @Column('text')
  username: string;
}

/** A completed sign-in at the provider, kept for as long as it could be replayed. */
@Entity('finished_sign_ins')
export class FinishedSignIn {
  /** SHA-256 of the sign-in's state. */
  @PrimaryColumn('bytea')
  state_hash: Buffer;

  @Column('timestamptz')
  forget_at: Date;
}
