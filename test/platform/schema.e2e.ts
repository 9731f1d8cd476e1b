import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../src/schema';
import { migrate } from '../../src/platform/database/migrate';
import { cloneDatabase } from '../support/database';

// These patterns match the expected differences between the schema and the entities. The differences exist because only
// migrations define constraints, indexes and identity columns.
const MIGRATIONS_ALONE = [
  /^ALTER TABLE "\w+" DROP CONSTRAINT/,
  /^ALTER TABLE "\w+" ADD CONSTRAINT "\w+" PRIMARY KEY/,
  /^DROP INDEX/,
  /^ALTER TABLE "\w+" ALTER COLUMN "\w+" (DROP IDENTITY|DROP DEFAULT)/,
];

describe('the schema', () => {
  let database: Awaited<ReturnType<typeof cloneDatabase>>;
  let dataSource: DataSource;

  beforeAll(async () => {
    database = await cloneDatabase();
    dataSource = await new DataSource(dataSourceOptions(database.url, 2)).initialize();
  });
  afterAll(async () => {
    await dataSource.destroy();
    await database.drop();
  });

  const drift = async () => {
    const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
    return upQueries.map(({ query }) => query).filter((query) => !MIGRATIONS_ALONE.some((own) => own.test(query)));
  };

  it('the database schema that the migrations create matches the entities', async () => {
    expect(await drift()).toEqual([]);
  });

  it('the schema check reports a column that changed its type, was added or was dropped', async () => {
    await dataSource.query('ALTER TABLE schools ADD COLUMN extra text');
    await dataSource.query('ALTER TABLE accounts ALTER COLUMN name DROP NOT NULL');
    await dataSource.query('ALTER TABLE tests DROP COLUMN exam_code');
    expect((await drift()).length).toBeGreaterThanOrEqual(3);
  });

  it('every table of the database schema has an entity', async () => {
    const tables = await dataSource.query<{ tablename: string }[]>(
      `SELECT relname AS tablename FROM pg_class WHERE relnamespace = 'public'::regnamespace
         AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> 'migrations'`,
    );
    const described = new Set(dataSource.entityMetadatas.map((metadata) => metadata.tableName));
    expect(tables.map(({ tablename }) => tablename).filter((name) => !described.has(name))).toEqual([]);
  });

  it('docs/data.md has a line for every table of the database schema, and for no other table', async () => {
    const tables = await dataSource.query<{ tablename: string }[]>(
      `SELECT relname AS tablename FROM pg_class WHERE relnamespace = 'public'::regnamespace
         AND relkind IN ('r', 'p') AND NOT relispartition`,
    );
    const document = readFileSync(join(__dirname, '../../docs/data.md'), 'utf8');
    const lines = [...document.matchAll(/^- `(\w+)`: \S/gm)].map(([, table]) => table);
    expect([...lines].sort()).toEqual(tables.map(({ tablename }) => tablename).sort());
  });

  it('every constraint of the database schema has an explicit name', async () => {
    const unnamed = await dataSource.query<{ conname: string }[]>(
      `SELECT conname FROM pg_constraint JOIN pg_class ON pg_class.oid = conrelid
       WHERE connamespace = 'public'::regnamespace AND contype <> 'n' AND relname <> 'migrations'
         AND conname ~ '_(pkey|fkey|check|excl)\\d*$'`,
    );
    expect(unnamed).toEqual([]);
  });
});

describe('migrations', () => {
  it('migrations run only once when several processes start simultaneously on an empty database', async () => {
    const database = await cloneDatabase({ migrated: false });
    await Promise.all(Array.from({ length: 5 }, () => migrate(database.url)));
    const dataSource = await new DataSource(dataSourceOptions(database.url, 2)).initialize();
    const applied = await dataSource.query<{ name: string }[]>('SELECT name FROM migrations');
    expect(applied.map(({ name }) => name).sort()).toEqual(
      dataSource.migrations.map((migration) => migration.constructor.name).sort(),
    );
    expect(new Set(applied.map(({ name }) => name)).size).toBe(applied.length);
    await dataSource.destroy();
    await database.drop();
  });
});
