import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** Wrong passwords in a row for one user name, known or not. */
@Entity('login_attempts')
@Index('login_attempts_forget_ix', ['forget_at'])
@Check('login_attempts_failures_not_negative', 'failures >= 0')
export class LoginAttempt {
  /** HMAC of the user name: people also type their password there. */
  @PrimaryColumn('bytea', { primaryKeyConstraintName: 'login_attempts_pk' })
  username_mac: Buffer;

  @Column('int')
  failures: number;

  @Column('timestamptz')
  forget_at: Date;
}

/** Token requests of one address in one minute. */
@Entity('token_request_counts')
@Index('token_request_counts_minute_ix', ['minute'])
export class TokenRequestCount {
  @PrimaryColumn('bytea', { primaryKeyConstraintName: 'token_request_counts_pk' })
  address_mac: Buffer;

  @PrimaryColumn('timestamptz', { primaryKeyConstraintName: 'token_request_counts_pk' })
  minute: Date;

  @Column('int')
  requests: number;
}
