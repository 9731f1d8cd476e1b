import { Column, Entity, PrimaryColumn } from 'typeorm';

/** Wrong passwords in a row for one user name, known or not. */
@Entity('login_attempts')
export class LoginAttempt {
  /** HMAC of the user name: people also type their password there. */
  @PrimaryColumn('bytea')
  username_mac: Buffer;

  @Column('int')
  failures: number;

  @Column('timestamptz')
  forget_at: Date;
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
