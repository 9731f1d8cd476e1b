import { Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * Counts consecutive wrong passwords for a user name in token requests of one application, whether or not the user
 * exists. Guesses in one application therefore lock nobody out of another application. The row with an empty consumer
 * key counts the wrong passwords for the user name in one hour, in all applications together.
 */
@Entity('login_attempts')
export class LoginAttempt {
  /**
   * The HMAC of the user name. The name itself is not stored, because people sometimes type their password into the
   * field for the user name.
   */
  @PrimaryColumn('bytea')
  username_mac: Buffer;

  @PrimaryColumn('text')
  consumer_key: string;

  @Column('int')
  failures: number;

  @Column('timestamptz')
  forget_at: Date;
}

/** Counts the refused password grants for one application and one address, until an audit entry summarizes them. */
@Entity('token_refusals')
export class TokenRefusal {
  @PrimaryColumn('text')
  consumer_key: string;

  @PrimaryColumn('bytea')
  address_mac: Buffer;

  @Column('timestamptz')
  since: Date;

  @Column('int')
  refused: number;

  /**
   * The user name in the refused requests, or a pseudonym if no such user exists; null if the requests contain
   * different names.
   */
  @Column('text', { nullable: true })
  name: string | null;
}

/** Counts the token requests from an address in one minute. */
@Entity('token_request_counts')
export class TokenRequestCount {
  @PrimaryColumn('bytea')
  address_mac: Buffer;

  @PrimaryColumn('timestamptz')
  minute: Date;

  @Column('int')
  requests: number;
}
