import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Links a person at an identity provider to the person's user in this service. */
@Entity('operator_identities')
export class OperatorIdentity {
  @PrimaryColumn('text')
  issuer: string;

  /**
   * The identifier of the person at the provider. Names and e-mail addresses do not identify a person, because they can
   * later be given to other people.
   */
  @PrimaryColumn('text')
  subject: string;

  @Column('text')
  username: string;
}

/**
 * A completed sign-in at the identity provider. The row is kept as long as the sign-in could be replayed, and prevents
 * the replay.
 */
@Entity('finished_sign_ins')
export class FinishedSignIn {
  /** SHA-256 of the `state` parameter of the sign-in. */
  @PrimaryColumn('bytea')
  state_hash: Buffer;

  @Column('timestamptz')
  forget_at: Date;
}
