import { CommandHandler, QueryBus, QueryHandler, type ICommandHandler, type IQueryHandler } from '@nestjs/cqrs';
import { Clock } from '../platform/clock.js';
import { Database, prepared, violatedConstraint } from '../platform/database/database.js';
import { UnitOfWork } from '../platform/unit-of-work/unit-of-work.js';
import { declareFaults, accountNotFound, forbiddenOperation, notFound, type DomainError } from '../platform/errors.js';
import { Secrets } from '../platform/secrets.js';
import { Account } from './account.entity.js';
import {
  ChangeAccount,
  CreateAccount,
  DeleteCatalogueEntry,
  DeleteTest,
  PutCatalogueEntry,
  PutTest,
  type NewAccount,
} from './accounts.commands.js';
import { FindPortionsInUse, FindUnknownTests, IsEntryInUse, IsTestNamedByVoucher } from './accounts.queries.js';
import { CATALOGUE } from './catalogue.js';
import { Test } from './test.entity.js';

declareFaults({
  portion_in_use: ['An open eligibility uses this portion.', 'Keep the portion until that eligibility is closed.'],
});

const ACCOUNT_CODE_LENGTH = 12;

const PUT_TEST = prepared(
  'test-put',
  `INSERT INTO tests (account_code, test_code, name, exam_code, launch_url, duration_minutes, change_cutoff_hours,
     launch_minutes_before, retake)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
   ON CONFLICT ON CONSTRAINT tests_pk DO UPDATE
   SET name = excluded.name, exam_code = excluded.exam_code, launch_url = excluded.launch_url,
       duration_minutes = excluded.duration_minutes, change_cutoff_hours = excluded.change_cutoff_hours,
       launch_minutes_before = excluded.launch_minutes_before, retake = excluded.retake`,
);
// Locks a test. Transactions that are writing an eligibility for the test hold FOR KEY SHARE locks on the test, so this
// lock waits for these transactions.
const LOCK_TEST = prepared('test-lock', `SELECT 1 FROM tests WHERE account_code = $1 AND test_code = $2 FOR UPDATE`);
const REMOVE_PORTIONS = prepared(
  'test-remove-portions',
  `DELETE FROM test_portions WHERE account_code = $1 AND test_code = $2 AND portion_code <> ALL ($3::text[])
   RETURNING portion_code`,
);
const PUT_PORTIONS = prepared(
  'test-put-portions',
  `INSERT INTO test_portions (account_code, test_code, portion_code, portion_name, ordinal)
   SELECT $1, $2, portion_code, portion_name, ordinal
   FROM unnest($3::text[], $4::text[]) WITH ORDINALITY AS portion (portion_code, portion_name, ordinal)
   ON CONFLICT ON CONSTRAINT test_portions_pk DO UPDATE
   SET portion_name = excluded.portion_name, ordinal = excluded.ordinal`,
);
const KEEP_TESTS = prepared(
  'tests-keep',
  `SELECT test_code FROM tests WHERE account_code = $1 AND test_code = ANY ($2::text[])
   ORDER BY test_code FOR KEY SHARE`,
);

@CommandHandler(CreateAccount)
export class CreateAccountHandler implements ICommandHandler<CreateAccount> {
  constructor(
    private readonly secrets: Secrets,
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
  ) {}

  execute({ name, expiringDays }: CreateAccount): Promise<NewAccount> {
    const account = {
      account_code: this.secrets.code(ACCOUNT_CODE_LENGTH),
      name,
      expiring_days: [...expiringDays],
      created_datetime: this.clock.now(),
    };
    return this.unitOfWork.run(async () => {
      await this.database.manager.insert(Account, account);
      this.unitOfWork.audit('account.create', account.account_code, { accountCode: account.account_code });
      return account;
    });
  }
}

@CommandHandler(ChangeAccount)
export class ChangeAccountHandler implements ICommandHandler<ChangeAccount> {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
  ) {}

  async execute({ accountCode, changes }: ChangeAccount): Promise<void> {
    await this.unitOfWork.run(async () => {
      const account = await this.database.manager.findOneBy(Account, { account_code: accountCode });
      if (!account) throw accountNotFound.error();
      if (Object.keys(changes).length === 0) return;
      await this.database.manager.update(Account, accountCode, changes);
      this.unitOfWork.audit('account.put', accountCode);
    });
  }
}

@CommandHandler(PutTest)
export class PutTestHandler implements ICommandHandler<PutTest> {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly queryBus: QueryBus,
  ) {}

  async execute({ accountCode, testCode, definition }: PutTest): Promise<void> {
    const { name, exam_code, launch_url, duration_minutes, portions } = definition;
    const { change_cutoff_hours, launch_minutes_before, retake } = definition;
    await refusing(() =>
      this.unitOfWork.run(async () => {
        await this.database.execute(PUT_TEST, [
          ...[accountCode, testCode, name, exam_code, launch_url, duration_minutes, change_cutoff_hours],
          ...[launch_minutes_before, retake],
        ]);
        await this.removePortionsBut(
          portions.map((portion) => portion.portion_code),
          accountCode,
          testCode,
        );
        await this.database.execute(PUT_PORTIONS, [
          accountCode,
          testCode,
          portions.map((portion) => portion.portion_code),
          portions.map((portion) => portion.portion_name),
        ]);
        this.unitOfWork.audit('test.put', `${accountCode}/${testCode}`);
      }),
    );
  }

  private async removePortionsBut(kept: string[], accountCode: string, testCode: string): Promise<void> {
    const removed = await this.database.query<{ portion_code: string }>(REMOVE_PORTIONS, [accountCode, testCode, kept]);
    if (removed.length === 0) return;
    await this.database.query(LOCK_TEST, [accountCode, testCode]);
    const removedCodes = removed.map(({ portion_code }) => portion_code);
    const used = await this.queryBus.execute(new FindPortionsInUse(accountCode, testCode, removedCodes));
    if (used.length > 0)
      throw forbiddenOperation.error({
        errors: used.map((portionCode) => ({
          pointer: '/portions',
          code: 'portion_in_use',
          detail: `An open eligibility contains the portion ${portionCode}. Keep the portion.`,
        })),
      });
  }
}

@CommandHandler(DeleteTest)
export class DeleteTestHandler implements ICommandHandler<DeleteTest> {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly queryBus: QueryBus,
  ) {}

  async execute({ accountCode, testCode }: DeleteTest): Promise<void> {
    await refusing(() =>
      this.unitOfWork.run(async () => {
        const { affected } = await this.database.manager.delete(Test, {
          account_code: accountCode,
          test_code: testCode,
        });
        if (affected === 0) throw notFound.error();
        // Vouchers are checked only after the test was deleted, because the deletion waits for transactions that are
        // writing vouchers for the test. These transactions lock the test (FindUnknownTests).
        if (await this.queryBus.execute(new IsTestNamedByVoucher(accountCode, testCode))) throw inUse();
        this.unitOfWork.audit('test.delete', `${accountCode}/${testCode}`);
      }),
    );
  }
}

@CommandHandler(PutCatalogueEntry)
export class PutCatalogueEntryHandler implements ICommandHandler<PutCatalogueEntry> {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
  ) {}

  async execute({ kind, accountCode, code, definition }: PutCatalogueEntry): Promise<void> {
    const { entity, codeColumn } = CATALOGUE[kind];
    const key = { account_code: accountCode, [codeColumn]: code };
    await refusing(() =>
      this.unitOfWork.run(async () => {
        await this.database.manager.upsert(entity, { ...key, ...definition }, Object.keys(key));
        this.unitOfWork.audit(`${kind}.put`, `${accountCode}/${code}`);
      }),
    );
  }
}

@CommandHandler(DeleteCatalogueEntry)
export class DeleteCatalogueEntryHandler implements ICommandHandler<DeleteCatalogueEntry> {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly queryBus: QueryBus,
  ) {}

  async execute({ kind, accountCode, code }: DeleteCatalogueEntry): Promise<void> {
    const { entity, codeColumn } = CATALOGUE[kind];
    await refusing(() =>
      this.unitOfWork.run(async () => {
        const { affected } = await this.database.manager.delete(entity, {
          account_code: accountCode,
          [codeColumn]: code,
        });
        if (affected === 0) throw notFound.error();
        if (kind !== 'school' && (await this.queryBus.execute(new IsEntryInUse(kind, accountCode, code))))
          throw inUse();
        this.unitOfWork.audit(`${kind}.delete`, `${accountCode}/${code}`);
      }),
    );
  }
}

@QueryHandler(FindUnknownTests)
export class FindUnknownTestsHandler implements IQueryHandler<FindUnknownTests> {
  constructor(private readonly database: Database) {}

  async execute({ accountCode, testCodes }: FindUnknownTests): Promise<string[]> {
    const rows = await this.database.query<{ test_code: string }>(KEEP_TESTS, [accountCode, testCodes]);
    const known = new Set(rows.map((row) => row.test_code));
    return testCodes.filter((testCode) => !known.has(testCode));
  }
}

function inUse(cause?: unknown): DomainError {
  return forbiddenOperation.error({ detail: 'The entry is in use and cannot be deleted.', cause });
}

/** Runs a function that changes the catalogue, and maps errors from violated database constraints to domain errors. */
async function refusing(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    const constraint = violatedConstraint(error);
    if (constraint?.endsWith('_account_fk')) throw accountNotFound.error({ cause: error });
    if (constraint === 'eligibilities_test_fk' || constraint === 'eligibilities_school_fk') throw inUse(error);
    throw error;
  }
}
