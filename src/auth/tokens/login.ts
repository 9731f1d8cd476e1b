import { Injectable } from '@nestjs/common';
import { AuthConfig } from '../auth.config.js';
import { Database, prepared } from '../../platform/database/database.js';
import { UnitOfWork } from '../../platform/unit-of-work/unit-of-work.js';
import type { Scope } from '../../platform/context/caller.js';
import type { Flow } from '../../platform/overload/fair-queue.js';
import { Passwords } from './passwords.js';
import { Pseudonyms } from './pseudonyms.js';

const FIND = prepared(
  'login-find-user',
  `SELECT username, password_hash, scopes, disabled FROM users WHERE username = $1`,
);

// Records the result of a sign-in attempt. $2: 1 after a wrong password, 0 after the right password; $3: the number of
// failures that locks the name; $4: the seconds for which failures are remembered; $5: the application or, for the
// console's public form, the address for which the name is locked. While a name is locked, its expiry does not change,
// and later attempts set the number of failures to $3 + 1. The failure that locked the name can therefore be
// distinguished from later failures. Earlier failures are forgotten if the stored expiry is at least $4 seconds before
// the new expiry.
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

/**
 * The maximum number of wrong passwords for a user name in an hour, in all applications and from all addresses
 * together.
 */
const CEILING = 100;
const CEILING_S = 3600;
/** The consumer key of rows that count wrong passwords in all applications together. No application has this key. */
const ALL = '';
const SECONDS_LEFT = `ceil(extract(epoch FROM attempt.forget_at - statement_timestamp()))::int AS seconds_left`;

// Locks the row of a user name, so that attempts to sign in with the name wait for each other. If the password is
// right, a missing row is not created.
const LOCK_NAME = prepared(
  'login-lock-name',
  `SELECT failures, ${SECONDS_LEFT} FROM login_attempts AS attempt
   WHERE username_mac = $1 AND consumer_key = '${ALL}' FOR UPDATE`,
);
const MAKE_AND_LOCK_NAME = prepared(
  'login-make-and-lock-name',
  `INSERT INTO login_attempts AS attempt (username_mac, consumer_key, failures, forget_at)
   VALUES ($1, '${ALL}', 0, statement_timestamp())
   ON CONFLICT ON CONSTRAINT login_attempts_pk DO UPDATE SET failures = attempt.failures
   RETURNING failures, ${SECONDS_LEFT}`,
);
// Counts a wrong password towards the hourly limit for the user name. The hour begins with the first wrong password,
// and later wrong passwords do not extend it.
const COUNT_FOR_NAME = prepared(
  'login-count-for-name',
  `UPDATE login_attempts SET
     failures = CASE WHEN forget_at <= statement_timestamp() THEN 1 ELSE failures + 1 END,
     forget_at = CASE WHEN forget_at <= statement_timestamp()
       THEN statement_timestamp() + make_interval(secs => ${CEILING_S}) ELSE forget_at END
   WHERE username_mac = $1 AND consumer_key = '${ALL}'
   RETURNING failures`,
);

const FORGET = prepared('login-forget', `DELETE FROM login_attempts WHERE username_mac = $1`);

export interface LoggedIn {
  readonly username: string;
  readonly password_hash: string;
  readonly scopes: Scope[];
}

/** An attempt to sign in with a password. */
interface Attempt {
  readonly username: string;
  readonly password: string;
  readonly application: string;
  /** The application for which wrong passwords lock the name or, at the console's public form, the address. */
  readonly within: string;
  /** The group and the caller for which this attempt waits in the fair queue for hashing passwords. */
  readonly flow: Flow;
}

/** The result of an attempt to sign in: the user, or null if the attempt was refused for any reason. */
interface Verdict {
  readonly user: LoggedIn | null;
  /**
   * The seconds until passwords for the name are checked again. Null if this password was checked, or if the name is
   * locked only in this application.
   */
  readonly patienceS: number | null;
}

/**
 * Checks user name and password, with a lock-out and a ceiling that all processes share.
 *
 * 1. Look up the user and verify the password against the stored hash. For an unknown user, a decoy hash is verified,
 *    so that the check takes equally long.
 * 2. If there were wrong guesses, lock the row that counts them for the name. Beyond the ceiling ({@link CEILING} wrong
 *    guesses in an hour), no password is accepted.
 * 3. Record the result in one statement. The row lock of the statement serializes the attempts for one name in one
 *    application. A right password counts only if the name was not locked before. Parallel guesses are therefore no
 *    better than sequential guesses.
 * 4. A wrong password that was checked counts for the name. An attempt that is refused because the name is locked does
 *    not count. Therefore, an application that has locked a name itself cannot exhaust the ceiling for the name by more
 *    guesses, and nobody can extend a lock-out.
 *
 * Rows are locked in the order of steps 2 and 3. Never respond before all steps are done. Never distinguish refusals:
 * the response is the same for an unknown user, a wrong password, a disabled user and a locked name. Beyond the
 * ceiling, the console shows a waiting time, for known and unknown names alike.
 */
@Injectable()
export class Login {
  constructor(
    private readonly config: AuthConfig,
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly passwords: Passwords,
    private readonly pseudonyms: Pseudonyms,
  ) {}

  async verify(attempt: Attempt): Promise<Verdict> {
    const user = await this.database.queryOne<LoggedIn & { disabled: boolean }>(FIND, [attempt.username]);
    const fits = await this.passwords.verify(attempt.flow, user?.password_hash ?? null, attempt.password);
    const right = fits && user !== null && !user.disabled;
    const { isJudged, patienceS } = await this.unitOfWork.run(() => this.settle(attempt, right, user !== null));
    return { user: right && isJudged && this.mayUsePassword(user) ? user : null, patienceS };
  }

  /** Checks the hourly ceiling of wrong passwords, and records the attempt, in one transaction (steps 2 to 4 above). */
  private async settle(
    { username, application, within }: Attempt,
    right: boolean,
    isUser: boolean,
  ): Promise<{ isJudged: boolean; patienceS: number | null }> {
    const name = this.macOf(username);
    const lock = right ? LOCK_NAME : MAKE_AND_LOCK_NAME;
    const guessed = await this.database.queryOne<{ failures: number; seconds_left: number }>(lock, [name]);
    if (guessed && guessed.failures >= CEILING && guessed.seconds_left > 0)
      return { isJudged: false, patienceS: guessed.seconds_left };
    const { lockoutAttempts, lockoutS } = this.config;
    const settled = await this.database.queryOne<{ failures: number }>(SETTLE, [
      name,
      right ? 0 : 1,
      lockoutAttempts,
      lockoutS,
      within,
    ]);
    const failures = settled!.failures;
    if (right) return { isJudged: failures === 0, patienceS: null };
    const isJudged = failures <= lockoutAttempts;
    const counted = isJudged ? await this.database.queryOne<{ failures: number }>(COUNT_FOR_NAME, [name]) : null;
    if (isUser && failures === lockoutAttempts) this.unitOfWork.audit('user.lock_out', username, { application });
    // The audit entry about the hourly ceiling names no application, because this lock-out applies to all applications.
    if (isUser && counted?.failures === CEILING) this.unitOfWork.audit('user.lock_out', username);
    return { isJudged, patienceS: null };
  }

  /** Unlocks the user name in all applications, and resets the hourly count. */
  async forgetFailures(username: string): Promise<void> {
    await this.database.execute(FORGET, [this.macOf(username)]);
  }

  /**
   * Returns whether the user may sign in with a password. Operators may not use a password if they must sign in at an
   * identity provider.
   */
  private mayUsePassword({ scopes }: LoggedIn): boolean {
    return this.config.operatorPasswords || !(scopes.includes('admin') || scopes.includes('support'));
  }

  private macOf(username: string): Buffer {
    return this.pseudonyms.of('username', username);
  }
}
