import { Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * Consecutive wrong passwords for one user name, known or not, through one application, so that other applications
 * cannot cause a lock-out here. The row with an empty key counts an hour's wrong passwords through all applications.
 */
@Entity('login_attempts')
export class LoginAttempt {
  /** HMAC of the user name, because people also type their password there by mistake. */
  @PrimaryColumn('bytea')
  username_mac: Buffer;

  @PrimaryColumn('text')
  consumer_key: string;

  @Column('int')
  failures: number;

  @Column('timestamptz')
  forget_at: Date;
}

/** Refused password grants of one application and address, until one audit row summarizes them. */
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

  /** A user name, or the pseudonym of another text; null when there were several. */
  @Column('text', { nullable: true })
  name: string | null;
}

/** The number of an address's token requests in one minute. */
@Entity('token_request_counts')
export class TokenRequestCount {
  @PrimaryColumn('bytea')
  address_mac: Buffer;

  @PrimaryColumn('timestamptz')
  minute: Date;

  @Column('int')
  requests: number;
}
