import { CommandHandler, QueryHandler, type ICommandHandler, type IQueryHandler } from '@nestjs/cqrs';
import { acrossAccounts, Database, prepared, violatedConstraint } from '../../platform/database/database.js';
import { UnitOfWork } from '../../platform/unit-of-work/unit-of-work.js';
import { defineProblem, notFound, type DomainError } from '../../platform/errors.js';
import { afterCursor } from '../../platform/http/paging.js';
import { randomToken, Secrets, sha256 } from '../../platform/secrets.js';
import { AssignmentFaults } from './assignment-faults.js';
import { Application } from '../tokens/application.entity.js';
import {
  CreateApplication,
  RotateApplicationSecret,
  UpdateApplication,
  type ApplicationCredentials,
} from '../auth.commands.js';
import { GetApplication, ListApplications, type ApplicationView } from '../auth.queries.js';

const consoleApplication = defineProblem(
  'console_application',
  'conflict',
  'This change to the console’s application is not allowed',
  'Operators sign in to the console through this application. The application cannot be disabled and cannot lose the scope `admin`.',
);

const CONSUMER_KEY_LENGTH = 20;

const VIEW = `SELECT consumer_key, position, name, scopes, grants, account_codes, subscription_ids, disabled, created_datetime
  FROM applications`;
const FIND = prepared('application-find', `${VIEW} WHERE consumer_key = $1`, acrossAccounts.rights);
const LIST = prepared(
  'application-list',
  `${VIEW} WHERE ${afterCursor('$1')} ORDER BY position DESC LIMIT $2`,
  acrossAccounts.rights,
);
// Changes an application. A trigger ends the token families that have a removed scope. If the application was disabled,
// the trigger ends all families of the application.
const UPDATE = prepared(
  'application-update',
  `UPDATE applications SET name = coalesce($2, name), scopes = coalesce($3, scopes),
                           grants = coalesce($4, grants), disabled = coalesce($5, disabled),
                           account_codes = coalesce($6, account_codes),
                           subscription_ids = coalesce($7, subscription_ids)
   WHERE consumer_key = $1`,
  acrossAccounts.rights,
);
const SET_SECRET = prepared(
  'application-set-secret',
  `UPDATE applications SET secret_hash = $2 WHERE consumer_key = $1`,
  acrossAccounts.rights,
);

function noSuchApplication(): DomainError {
  return notFound.error({ detail: 'There is no such application.' });
}

@QueryHandler(GetApplication)
export class GetApplicationHandler implements IQueryHandler<GetApplication> {
  constructor(private readonly database: Database) {}

  async execute({ consumerKey }: GetApplication): Promise<ApplicationView> {
    const application = await this.database.queryOne<ApplicationView>(FIND, [consumerKey]);
    if (!application) throw noSuchApplication();
    return application;
  }
}

@QueryHandler(ListApplications)
export class ListApplicationsHandler implements IQueryHandler<ListApplications> {
  constructor(private readonly database: Database) {}

  async execute({ page }: ListApplications): Promise<ApplicationView[]> {
    return this.database.query<ApplicationView>(LIST, [page.after, page.take]);
  }
}

@CommandHandler(CreateApplication)
export class CreateApplicationHandler implements ICommandHandler<CreateApplication> {
  constructor(
    private readonly secrets: Secrets,
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly assignmentFaults: AssignmentFaults,
  ) {}

  async execute({ name, scopes, grants, assignments, faults }: CreateApplication): Promise<ApplicationCredentials> {
    await this.assignmentFaults.addTo(faults, assignments);
    faults.refuse();
    return this.unitOfWork.run(async () => {
      const credentials = {
        consumer_key: this.secrets.code(CONSUMER_KEY_LENGTH),
        consumer_secret: randomToken(),
      };
      await this.database.manager.insert(Application, {
        consumer_key: credentials.consumer_key,
        name,
        secret_hash: sha256(credentials.consumer_secret),
        scopes: [...new Set(scopes)],
        grants: [...new Set(grants)],
        account_codes: [...new Set(assignments.accountCodes)],
        subscription_ids: [...new Set(assignments.subscriptionIds)],
      });
      this.unitOfWork.audit('application.create', credentials.consumer_key);
      return credentials;
    });
  }
}

@CommandHandler(UpdateApplication)
export class UpdateApplicationHandler implements ICommandHandler<UpdateApplication> {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly assignmentFaults: AssignmentFaults,
  ) {}

  async execute({ consumerKey, changes, faults }: UpdateApplication): Promise<ApplicationView> {
    const { name, scopes, grants, disabled, accountCodes, subscriptionIds } = changes;
    const held =
      subscriptionIds && (await this.database.queryOne<ApplicationView>(FIND, [consumerKey]))?.subscription_ids;
    await this.assignmentFaults.addTo(faults, changes, held);
    faults.refuse();
    return this.unitOfWork.run(async () => {
      const values = [
        consumerKey,
        name ?? null,
        scopes ? [...new Set(scopes)] : null,
        grants ? [...new Set(grants)] : null,
        disabled ?? null,
        accountCodes ? [...new Set(accountCodes)] : null,
        subscriptionIds ? [...new Set(subscriptionIds)] : null,
      ];
      const updated = await this.database.execute(UPDATE, values).catch((error: unknown) => {
        throw violatedConstraint(error) === 'applications_console_stays' ? consoleApplication.error() : error;
      });
      if (updated === 0) throw noSuchApplication();
      this.unitOfWork.audit('application.update', consumerKey);
      return (await this.database.queryOne<ApplicationView>(FIND, [consumerKey]))!;
    });
  }
}

@CommandHandler(RotateApplicationSecret)
export class RotateApplicationSecretHandler implements ICommandHandler<RotateApplicationSecret> {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
  ) {}

  async execute({ consumerKey }: RotateApplicationSecret): Promise<ApplicationCredentials> {
    return this.unitOfWork.run(async () => {
      const secret = randomToken();
      const found = await this.database.execute(SET_SECRET, [consumerKey, sha256(secret)]);
      if (found === 0) throw noSuchApplication();
      this.unitOfWork.audit('application.rotate_secret', consumerKey);
      return { consumer_key: consumerKey, consumer_secret: secret };
    });
  }
}
