import { Injectable } from '@nestjs/common';
import { Config } from '../config.js';
import { Database, prepared } from '../platform/database/database.js';
import { UnitOfWork } from '../platform/unit-of-work/unit-of-work.js';
import type { Scope } from '../platform/context/caller.js';
import type { Flow } from '../platform/fair-queue.js';
import { Passwords } from './passwords.js';
import { Pseudonyms } from './pseudonyms.js';

const FIND = prepared(
  'login-find-user',
  `SELECT username, password_hash, scopes, disabled FROM users WHERE username = $1`,
);

// $2: 1 after a wrong password, 0 after a right one. $3: failures that lock. $4: seconds that they are remembered.
// $5: the application, or a part of it, which locks the name for itself alone.
// A locked name stays as it is until it is forgotten; the first failure beyond the limit is told from the one that locked.
// Whether the time is over is told by the two times to forget: $4 lies between now and the new one.
const IS_FORGOTTEN = `attempt.forget_at - excluded.forget_at <= make_interval(secs => -$4::float8)`;
const SETTLE = prepared(
  'login-settle',
  `INSERT INTO login_attempts AS attempt (username_mac, consumer_key, failures, forget_at)
   VALUES ($1, $5, $2, statement_timestamp() + make_interval(secs => $4))
   ON CONFLICT ON CONSTRAINT login_attempts_pk DO UPDATE SET
     failures = CASE
       WHEN ${IS_FORGOTTEN} THEN excluded.failures
       WHEN attempt.failures >= $3 THEN $3 + 1
       WHEN excluded.failures = 0 THEN 0
       ELSE attempt.failures + 1 END,
     forget_at = CASE
       WHEN NOT ${IS_FORGOTTEN} AND attempt.failures >= $3 THEN attempt.forget_at
       ELSE excluded.forget_at END
   RETURNING failures`,
);

const FORGET = prepared('login-forget', `DELETE FROM login_attempts WHERE username_mac = $1`);

export interface LoggedIn {
  readonly username: string;
  readonly password_hash: string;
  readonly scopes: Scope[];
}

/** Somebody who wants to be a user. */
export interface Attempt {
  readonly username: string;
  readonly password: string;
  readonly application: string;
  /** What the lock-out is of: the application, or a part of one that strangers reach without its secret. */
  readonly within: string;
  /** Whose turn it is to have a password hashed. */
  readonly flow: Flow;
}

/**
 * Checks user name and password, with a lock-out that all processes share.
 *
 * 1. Look the user up, and hash: for an unknown user against a decoy, so that every path takes as long.
 * 2. Settle the attempt in one statement, whose row lock puts the attempts of one name through one application in an order. A right password
 *    counts only if the name was not locked before it: of any number of parallel guesses no more are judged than of
 *    guesses in a row.
 *
 * Never answer before step 2, nor tell one refusal from another: unknown, wrong, disabled and locked are one.
 */
@Injectable()
export class Login {
  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly passwords: Passwords,
    private readonly pseudonyms: Pseudonyms,
  ) {}

  /** The user, or null for whatever reason there is. */
  async verify({ username, password, application, within, flow }: Attempt): Promise<LoggedIn | null> {
    const user = await this.database.queryOne<LoggedIn & { disabled: boolean }>(FIND, [username]);
    const fits = await this.passwords.verify(flow, user?.password_hash ?? null, password);
    const right = fits && user !== null && !user.disabled;
    const { lockoutAttempts, lockoutS } = this.config;
    const settled = await this.database.queryOne<{ failures: number }>(SETTLE, [
      this.macOf(username),
      right ? 0 : 1,
      lockoutAttempts,
      lockoutS,
      within,
    ]);
    if (right && settled!.failures === 0) return this.mayUsePassword(user) ? user : null;
    if (!right && user !== null && settled!.failures === lockoutAttempts)
      await this.unitOfWork.run(async () =>
        Promise.resolve(this.unitOfWork.audit('user.lock_out', username, { application })),
      );
    return null;
  }

  /** Lifts every lock-out of the name. */
  async forgetFailures(username: string): Promise<void> {
    await this.database.execute(FORGET, [this.macOf(username)]);
  }

  /** Where operators sign in elsewhere, a password is not enough for them. */
  private mayUsePassword({ scopes }: LoggedIn): boolean {
    return this.config.operatorPasswords || !(scopes.includes('admin') || scopes.includes('support'));
  }

  private macOf(username: string): Buffer {
    return this.pseudonyms.of('username', username);
  }
}
