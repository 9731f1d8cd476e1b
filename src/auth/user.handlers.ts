import { CommandHandler, QueryHandler, type ICommandHandler, type IQueryHandler } from '@nestjs/cqrs';
import { acrossAccounts, Database, prepared, violatedConstraint } from '../platform/database/database.js';
import { UnitOfWork } from '../platform/unit-of-work/unit-of-work.js';
import { defineProblem, notFound, type Fault } from '../platform/errors.js';
import { afterCursor } from '../platform/http/paging.js';
import type { Faults } from '../platform/validation/faults.js';
import { fault } from '../platform/validation/rules.js';
import { CreateUser, UnlockUser, UpdateUser } from './auth.commands.js';
import { GetUser, ListUsers, type UserView } from './auth.queries.js';
import { Login } from './login.js';
import { PasswordStrength } from './password-strength.js';
import { Passwords } from './passwords.js';
import { TokenStore } from './token-store.js';
import { User, UserAccount } from './user.entity.js';

const usernameTaken = defineProblem(
  'username_taken',
  'conflict',
  'The user name is taken',
  'There is a user of this name. Change that user, or choose another name.',
);

const VIEW = `
  SELECT username, position, scopes, disabled, created_datetime,
         ARRAY(SELECT account_code FROM user_accounts WHERE username = users.username ORDER BY 1) AS account_codes
  FROM users`;
const FIND = prepared('user-find', `${VIEW} WHERE username = $1`, acrossAccounts.rights);
const LIST = prepared(
  'user-list',
  `${VIEW} WHERE ${afterCursor('$1')} ORDER BY position DESC LIMIT $2`,
  acrossAccounts.rights,
);
// Locked before it is changed: of two at once the second sees what the first left.
const UPDATE = prepared(
  'user-update',
  `UPDATE users SET password_hash = coalesce($2, password_hash), scopes = coalesce($3, scopes),
                    disabled = coalesce($4, disabled)
   FROM (SELECT username AS name, disabled AS was_disabled FROM users WHERE username = $1 FOR NO KEY UPDATE) AS before
   WHERE username = before.name
   RETURNING disabled <> was_disabled AS flips`,
);
const UNKNOWN_ACCOUNTS = prepared(
  'user-unknown-accounts',
  `SELECT code FROM unnest($1::text[]) AS code WHERE NOT EXISTS (SELECT 1 FROM accounts WHERE account_code = code)`,
);
const LEAVE_ACCOUNTS = prepared(
  'user-leave-accounts',
  `DELETE FROM user_accounts WHERE username = $1 AND account_code <> ALL ($2::text[])`,
  acrossAccounts.rights,
);
const JOIN_ACCOUNTS = prepared(
  'user-join-accounts',
  `INSERT INTO user_accounts (username, account_code) SELECT $1, unnest($2::text[]) ON CONFLICT DO NOTHING`,
);

@QueryHandler(GetUser)
export class GetUserHandler implements IQueryHandler<GetUser> {
  constructor(private readonly database: Database) {}

  async execute({ username }: GetUser): Promise<UserView> {
    const user = await this.database.queryOne<UserView>(FIND, [username]);
    if (!user) throw notFound.error({ detail: 'There is no such user.' });
    return user;
  }
}

@QueryHandler(ListUsers)
export class ListUsersHandler implements IQueryHandler<ListUsers> {
  constructor(private readonly database: Database) {}

  async execute({ page }: ListUsers): Promise<UserView[]> {
    return this.database.query<UserView>(LIST, [page.after, page.take]);
  }
}

@CommandHandler(CreateUser)
export class CreateUserHandler implements ICommandHandler<CreateUser> {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly passwords: Passwords,
    private readonly strength: PasswordStrength,
  ) {}

  async execute({ username, password, accountCodes, scopes, faults }: CreateUser): Promise<UserView> {
    if (!faults.concern('/password') && !faults.concern('/username'))
      faults.add(...(await this.strength.faults(password, username)));
    faults.add(...(await unknownAccounts(this.database, accountCodes, faults)));
    faults.refuse();
    const passwordHash = await this.passwords.hash(password);
    return this.unitOfWork.run(async () => {
      try {
        await this.database.manager.insert(User, {
          username,
          password_hash: passwordHash,
          scopes: [...new Set(scopes)],
        });
      } catch (error) {
        throw violatedConstraint(error) === 'users_pk' ? usernameTaken.error() : error;
      }
      await this.database.manager.insert(
        UserAccount,
        [...new Set(accountCodes)].map((code) => ({ username, account_code: code })),
      );
      this.unitOfWork.audit('user.create', username);
      return (await this.database.queryOne<UserView>(FIND, [username]))!;
    });
  }
}

@CommandHandler(UpdateUser)
export class UpdateUserHandler implements ICommandHandler<UpdateUser> {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly passwords: Passwords,
    private readonly strength: PasswordStrength,
    private readonly tokens: TokenStore,
    private readonly login: Login,
  ) {}

  async execute({ username, changes, faults }: UpdateUser): Promise<UserView> {
    const { password, accountCodes, scopes, disabled } = changes;
    if (password !== undefined && !faults.concern('/password'))
      faults.add(...(await this.strength.faults(password, username)));
    faults.add(...(await unknownAccounts(this.database, accountCodes ?? [], faults)));
    faults.refuse();
    const passwordHash = password === undefined ? null : await this.passwords.hash(password);
    return this.unitOfWork.run(async () => {
      const updated = await this.database.queryOne<{ flips: boolean }>(UPDATE, [
        username,
        passwordHash,
        scopes ? [...new Set(scopes)] : null,
        disabled ?? null,
      ]);
      if (!updated) throw notFound.error({ detail: 'There is no such user.' });
      if (accountCodes) {
        await this.database.execute(LEAVE_ACCOUNTS, [username, accountCodes]);
        await this.database.execute(JOIN_ACCOUNTS, [username, accountCodes]);
      }
      // Enabling ends them too: a release before this one left those of a disabled user as they were.
      if (passwordHash !== null || updated.flips) await this.tokens.endFamiliesOfUser(username);
      if (passwordHash !== null) await this.login.forgetFailures(username);
      this.unitOfWork.audit('user.update', username);
      return (await this.database.queryOne<UserView>(FIND, [username]))!;
    });
  }
}

@CommandHandler(UnlockUser)
export class UnlockUserHandler implements ICommandHandler<UnlockUser> {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly login: Login,
  ) {}

  async execute({ username }: UnlockUser): Promise<void> {
    await this.unitOfWork.run(async () => {
      if (!(await this.database.queryOne(FIND, [username]))) throw notFound.error({ detail: 'There is no such user.' });
      await this.login.forgetFailures(username);
      this.unitOfWork.audit('user.unlock', username);
    });
  }
}

/** A fault for each account that there is not, at its place in `/account_codes`; not of those that have one already. */
async function unknownAccounts(
  database: Database,
  accountCodes: readonly string[],
  faults: Faults,
): Promise<readonly Fault[]> {
  if (accountCodes.length === 0) return [];
  const asked = faults.entries('/account_codes', accountCodes);
  const rows = await database.query<{ code: string }>(UNKNOWN_ACCOUNTS, [asked.filter((code) => code !== undefined)]);
  const unknown = new Set(rows.map((row) => row.code));
  return asked.flatMap((code, index) =>
    code !== undefined && unknown.has(code)
      ? [fault('account_not_found', 'No account has this code.', `/account_codes/${index}`)]
      : [],
  );
}
