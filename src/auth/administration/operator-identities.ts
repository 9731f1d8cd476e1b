import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { acrossAccounts, Database, prepared } from '../../platform/database/database.js';
import { randomToken } from '../../platform/secrets.js';
import { UnitOfWork } from '../../platform/unit-of-work/unit-of-work.js';
import type { LoggedIn } from '../tokens/login.js';
import type { OperatorRights } from '../tokens/operator-rights.js';
import { isReservedName } from './reserved-names.js';
import { Passwords } from '../tokens/passwords.js';
import { UserRights, type ChangedUser } from './user-rights.js';

/** A person who signs in at an identity provider, identified by issuer and subject. */
export interface Identity {
  readonly issuer: string;
  readonly subject: string;
  /** The person's names at the provider, with the preferred name first. */
  readonly names: readonly string[];
}

const FIND = prepared(
  'operator-identity-find',
  `SELECT username FROM operator_identities WHERE issuer = $1 AND subject = $2`,
);
const IS_KNOWN = prepared('operator-identity-is-known', `SELECT 1 FROM operator_identities WHERE username = $1`);
// Makes concurrent sign-ins by one person wait for each other, because the first sign-in creates the user.
const LOCK = prepared(
  'operator-identity-lock',
  `SELECT pg_advisory_xact_lock(hashtextextended('operator-identity ' || $1::text || ' ' || $2::text, 0))`,
);
const MAKE_USER = prepared(
  'operator-identity-make-user',
  `WITH made AS (
     INSERT INTO users (username, password_hash, scopes) SELECT $3, $4, '{}'
     WHERE NOT EXISTS (SELECT FROM applications WHERE consumer_key = $3) ON CONFLICT DO NOTHING RETURNING username)
   INSERT INTO operator_identities (issuer, subject, username) SELECT $1, $2, username FROM made`,
  acrossAccounts.rights,
);

/** Matches the characters that a user name must not contain. Names from the identity provider may contain them. */
const NOT_IN_NAMES = /[^A-Za-z0-9._@+-]+/g;
const LONGEST_NAME = 64;
const MARK_LENGTH = 8;

/**
 * Maps operators of an identity provider to users.
 *
 * 1. A person is identified only by issuer and subject. If a user of this service already has the person's name, the
 *    new user's name gets a suffix. Therefore, nobody can take over a user by choosing a name at the provider.
 * 2. Each sign-in sets the user's rights from the person's current groups. Sessions that have more rights end, and the
 *    audit log records the changes.
 * 3. If no group grants rights to a person any more, the user is kept for the audit log, without rights or sessions.
 * 4. When the provider omits the groups, nothing changes and the sign-in fails (identity-provider.ts).
 */
@Injectable()
export class OperatorIdentities {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly passwords: Passwords,
    private readonly rights: UserRights,
  ) {}

  /**
   * Returns the user of a person. The person's first sign-in creates the user. Returns null for a user who was disabled
   * in this service.
   *
   * @throws DomainError last_operator
   */
  async admit(identity: Identity, rights: OperatorRights): Promise<LoggedIn | null> {
    // The user gets a random password that nobody knows and nobody can change (user.handlers.ts).
    const hash = (await this.find(identity)) ? null : await this.passwords.hash(randomToken());
    return this.unitOfWork.run(async () => {
      await this.database.query(LOCK, [identity.issuer, identity.subject]);
      const known = await this.find(identity);
      const username = known ?? (await this.make(identity, hash!));
      const user = await this.setRights(username, rights, known === null ? 'user.create' : 'user.update');
      this.unitOfWork.audit('user.sign_in', username, { actor: username, changed: [] });
      return user.disabled ? null : user;
    });
  }

  /**
   * Returns whether the user with this name signs in at an identity provider; false for a user who was created in this
   * service.
   */
  async areOf(username: string): Promise<boolean> {
    return (await this.database.queryOne(IS_KNOWN, [username])) !== null;
  }

  /** Removes all rights of a person to whom no group grants rights any more. */
  withdraw(identity: Identity): Promise<void> {
    return this.unitOfWork.run(async () => {
      await this.database.query(LOCK, [identity.issuer, identity.subject]);
      const username = await this.find(identity);
      if (username === null) return;
      await this.setRights(username, { scopes: [], accountCodes: [] }, 'user.update');
      this.unitOfWork.audit('user.withdraw', username, { actor: username, changed: [] });
    });
  }

  private async find({ issuer, subject }: Identity): Promise<string | null> {
    return (await this.database.queryOne<{ username: string }>(FIND, [issuer, subject]))?.username ?? null;
  }

  private async make({ issuer, subject, names }: Identity, hash: string): Promise<string> {
    const mark = createHash('sha256').update(`${issuer}\0${subject}`).digest('hex').slice(0, MARK_LENGTH);
    const name = names
      .map((given) => given.replace(NOT_IN_NAMES, '-'))
      .find((given) => !/^[.-]*$/.test(given) && !isReservedName(given));
    const plain = (name ?? 'operator').slice(0, LONGEST_NAME);
    for (const username of [plain, `${plain.slice(0, LONGEST_NAME - MARK_LENGTH - 1)}-${mark}`])
      if ((await this.database.execute(MAKE_USER, [issuer, subject, username, hash])) > 0) return username;
    throw new Error('Every user name that this operator could have is already taken.');
  }

  /**
   * Sets the rights that the person's groups grant. The audit log records the changes in the same way as changes by an
   * operator.
   */
  private async setRights(
    username: string,
    rights: OperatorRights,
    action: 'user.create' | 'user.update',
  ): Promise<ChangedUser> {
    const user = (await this.rights.change(username, rights))!;
    if (user.changedRights.length > 0)
      this.unitOfWork.audit(action, username, { actor: username, changed: user.changedRights });
    return user;
  }
}
