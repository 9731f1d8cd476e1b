import { Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * Wrong passwords in a row for one user name, known or not, through one application: another one locks nobody out here. The row
 * with an empty key counts those of an hour through all applications together.
 */
@Entity('login_attempts')
export class LoginAttempt {
  /** HMAC of the user name: people also type their password there. */
  @PrimaryColumn('bytea')
  username_mac: Buffer;

  @PrimaryColumn('text')
  consumer_key: string;

  @Column('int')
  failures: number;

  @Column('timestamptz')
  forget_at: Date;
}

/** Refused password grants of one application and address, until they become one audit row. */
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

  /** A user name, or the pseudonym of what is none; null when there were several. */
  @Column('text', { nullable: true })
  name: string | null;
}

/** Token requests of one address in one minute. */
@Entity('token_request_counts')
export class TokenRequestCount {
  @PrimaryColumn('bytea')
  address_mac: Buffer;

  @PrimaryColumn('timestamptz')
  minute: Date;

  @Column('int')
  requests: number;
}
