import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** Wrong passwords in a row for one user name, known or not. */
@Entity('login_attempts')
@Index('login_attempts_forget_ix', ['forgetAt'])
@Check('login_attempts_failures_not_negative', 'failures >= 0')
export class LoginAttempt {
  /** HMAC of the user name: people also type their password there. */
  @PrimaryColumn('bytea', { name: 'username_mac', primaryKeyConstraintName: 'login_attempts_pk' })
  usernameMac: Buffer;

  @Column('int')
  failures: number;

  @Column('timestamptz', { name: 'forget_at' })
  forgetAt: Date;
}

/** Token requests of one address in one minute. */
@Entity('token_request_counts')
@Index('token_request_counts_minute_ix', ['minute'])
export class TokenRequestCount {
  @PrimaryColumn('bytea', { name: 'address_mac', primaryKeyConstraintName: 'token_request_counts_pk' })
  addressMac: Buffer;

  @PrimaryColumn('timestamptz', { primaryKeyConstraintName: 'token_request_counts_pk' })
  minute: Date;

  @Column('int')
  requests: number;
}
