import { CommandHandler, QueryHandler, type ICommandHandler, type IQueryHandler } from '@nestjs/cqrs';
import { AuthConfig } from '../auth.config.js';
import { acrossAccounts, Database, prepared, violatedConstraint } from '../../platform/database/database.js';
import type { Scope } from '../../platform/context/caller.js';
import { UnitOfWork } from '../../platform/unit-of-work/unit-of-work.js';
import { defineProblem, notFound, type Fault } from '../../platform/errors.js';
import { afterCursor } from '../../platform/http/paging.js';
import { fault } from '../../platform/validation/rules.js';
import { CreateUser, UnlockUser, UpdateUser, type UserChanges } from '../auth.commands.js';
import { GetUser, ListUsers, type UserView } from '../auth.queries.js';
import { Login } from '../tokens/login.js';
import { PasswordStrength } from './password-strength.js';
import { Passwords } from '../tokens/passwords.js';
import { isOperator } from '../tokens/scope.rules.js';
import { OperatorIdentities } from './operator-identities.js';
import { AssignmentFaults } from './assignment-faults.js';
import { User, UserAccount } from '../tokens/user.entity.js';
import { UserRights } from './user-rights.js';

const usernameTaken = defineProblem(
  'username_taken',
  'conflict',
  'The user name is taken',
  'A user with this name already exists. Change that user, or choose another name.',
);

const VIEW = `
  SELECT username, position, scopes, subscription_ids, disabled, created_datetime,
         ARRAY(SELECT account_code FROM user_accounts WHERE username = users.username ORDER BY 1) AS account_codes
  FROM users`;
const FIND = prepared('user-find', `${VIEW} WHERE username = $1`, acrossAccounts.rights);
const LIST = prepared(
  'user-list',
  `${VIEW} WHERE ${afterCursor('$1')} ORDER BY position DESC LIMIT $2`,
  acrossAccounts.rights,
);
// Finds out whether a name is the consumer key of an application. An application that is itself the caller appears in
// the audit log under its consumer key, so no user may have this name.
const IS_CONSUMER_KEY = prepared(
  'user-is-consumer-key',
  `SELECT 1 FROM applications WHERE consumer_key = $1`,
  acrossAccounts.rights,
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
    private readonly assignmentFaults: AssignmentFaults,
  ) {}

  async execute({ username, password, accountCodes, scopes, subscriptionIds, faults }: CreateUser): Promise<UserView> {
    if (!faults.concern('/password') && !faults.concern('/username'))
      faults.add(...(await this.strength.faults(password, username)));
    await this.assignmentFaults.addTo(faults, { accountCodes, subscriptionIds });
    faults.refuse();
    const passwordHash = await this.passwords.hash(password);
    return this.unitOfWork.run(async () => {
      if (await this.database.queryOne(IS_CONSUMER_KEY, [username])) throw usernameTaken.error();
      try {
        await this.database.manager.insert(User, {
          username,
          password_hash: passwordHash,
          scopes: [...new Set(scopes)],
          subscription_ids: [...new Set(subscriptionIds)],
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
    private readonly config: AuthConfig,
    private readonly passwords: Passwords,
    private readonly strength: PasswordStrength,
    private readonly identities: OperatorIdentities,
    private readonly rights: UserRights,
    private readonly login: Login,
    private readonly assignmentFaults: AssignmentFaults,
  ) {}

  async execute({ username, changes, faults }: UpdateUser): Promise<UserView> {
    const { password, accountCodes, scopes, subscriptionIds, disabled } = changes;
    if (password !== undefined && !faults.concern('/password')) {
      faults.add(...(await this.strength.faults(password, username)));
      faults.add(...(await this.elsewhere(username, scopes)));
    }
    const held = subscriptionIds && (await this.database.queryOne<UserView>(FIND, [username]))?.subscription_ids;
    await this.assignmentFaults.addTo(faults, { accountCodes, subscriptionIds }, held);
    faults.refuse();
    const passwordHash = password === undefined ? null : await this.passwords.hash(password);
    return this.unitOfWork.run(async () => {
      const changed = await this.rights.change(username, {
        passwordHash,
        scopes,
        accountCodes,
        subscriptionIds,
        disabled,
      });
      if (!changed) throw notFound.error({ detail: 'There is no such user.' });
      if (passwordHash !== null) await this.login.forgetFailures(username);
      this.unitOfWork.audit('user.update', username, { changed: membersOf(changes) });
      return (await this.database.queryOne<UserView>(FIND, [username]))!;
    });
  }

  /**
   * Returns a fault if the user must not have a password in this service. An operator could not use a password if
   * operators must sign in at an identity provider. For a user of the identity provider, a password would be a second
   * way to sign in.
   */
  private async elsewhere(username: string, scopes: readonly Scope[] | undefined): Promise<readonly Fault[]> {
    if (await this.identities.areOf(username))
      return [
        fault(
          'password_elsewhere',
          'This user signs in through the identity provider of the organisation and cannot have a password here.',
          '/password',
        ),
      ];
    if (this.config.operatorPasswords) return [];
    const held = scopes ?? (await this.database.queryOne<UserView>(FIND, [username]))?.scopes ?? [];
    return isOperator(held)
      ? [fault('password_elsewhere', 'Operators cannot sign in with a password here.', '/password')]
      : [];
  }
}

const MEMBERS: Record<keyof UserChanges, string> = {
  password: 'password',
  accountCodes: 'account_codes',
  scopes: 'scopes',
  subscriptionIds: 'subscription_ids',
  disabled: 'disabled',
};

/**
 * Returns the names that the changed members have in the API. The audit entries for changes on the command line use the
 * same names.
 */
function membersOf(changes: UserChanges): string[] {
  return Object.entries(MEMBERS).flatMap(([key, name]) =>
    changes[key as keyof UserChanges] === undefined ? [] : [name],
  );
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
