import { join } from 'node:path';
import { BOUND_RULES, brokenBounds } from './account-bounds';
import { assembledIn, assemblers } from './assembled';
import { Loader } from './loader';
import { schemaOf, type Schema } from './schema';
import { sqlTextsIn, strayIn, type SqlText } from './sql-texts';
import { loadParser, statementsOf } from './sql-tree';
import { arrowsIn, brokenBy, hiddenTablesIn, ownersIn, volatileFunctionsIn } from './tables';

const root = join(__dirname, '../..');
const violations = join(__dirname, 'violations');
const isSql = ({ text }: SqlText): boolean => {
  try {
    return statementsOf(text).length > 0;
  } catch {
    return false;
  }
};

let schema: Schema;
/**
 * The statements that the service can run. Some are declared in the sources. The others are built by functions, which
 * are called with sample arguments (assembled.ts).
 */
let statements: SqlText[];
let assembled: readonly string[];
let planted: SqlText[];

beforeAll(async () => {
  await loadParser();
  const loader = new Loader(root);
  const texts = sqlTextsIn(root, loader);
  assembled = texts.assembled;
  statements = [...texts.statements, ...(await assembledIn(loader))];
  schema = await schemaOf(root, loader);
  planted = sqlTextsIn(violations, new Loader(violations)).statements.filter(isSql);
});

const toldOf = ({ file, name, text }: SqlText): string => `${file}: ${name ?? text.replace(/\s+/g, ' ').slice(0, 60)}`;

describe('the SQL statements that the check of tables parses', () => {
  it('the table check finds every SQL statement of the service and every function that builds one', () => {
    expect([...assembled].sort()).toEqual(assemblers);
    expect(strayIn(root, new Set(schema.keys()), statements)).toEqual([]);
  });

  it('every SQL statement of the service is valid SQL', () => {
    expect(statements.filter((statement) => !isSql(statement)).map(toldOf)).toEqual([]);
  });

  it('the table check finds every planted SQL statement, and reports a planted text that is not SQL', () => {
    const { statements: all, assembled: unknown } = sqlTextsIn(violations, new Loader(violations));
    expect(unknown).toEqual(['src/eligibility/assembles-a-statement.ts: ']);
    expect(all.filter((statement) => !isSql(statement)).map(toldOf)).toEqual(['src/eligibility/is-no-sql.ts: no-sql']);
    expect(strayIn(violations, new Set(schema.keys()), all)).toEqual([
      'src/accounts/joins-eligibilities.ts: eligibilities',
      'src/eligibility/assembles-a-statement.ts: eligibilities',
      'src/platform/reads-accounts.ts: accounts',
    ]);
  });
});

describe('a table belongs to one module', () => {
  const owners = ownersIn(root);

  it('every table that a migration creates has an entity in the folder of the module that owns the table', () => {
    expect([...owners.keys()].sort()).toEqual([...schema.keys()].sort());
  });

  it('only the module that owns a table changes the table, and only modules that may import the owner read the table', () => {
    const wrong = arrowsIn(statements, owners).filter((arrow) => brokenBy(arrow).length > 0);
    expect(wrong.map((arrow) => `${brokenBy(arrow).join()}: ${arrow.file} → ${arrow.to} (${arrow.table})`)).toEqual([]);
  });

  it('no source file assembles the name of a table at run time', () => {
    expect(hiddenTablesIn(root)).toEqual([]);
  });
});

describe('the check of the tables', () => {
  it('the table check reports a planted violation in every form in which the code writes SQL', () => {
    const found = arrowsIn(planted, ownersIn(violations)).map((arrow) => [arrow.file, arrow.table, ...brokenBy(arrow)]);
    const inOtherModules = found.filter(([file]) => !file.endsWith('bound.ts'));
    expect(inOtherModules).toEqual([
      ['src/accounts/reads-eligibilities.ts', 'eligibilities', 'directions-of-accounts'],
      ['src/accounts/reads-in-lower-case.ts', 'eligibilities', 'directions-of-accounts'],
      ['src/accounts/reads-in-parts.ts', 'eligibilities', 'directions-of-accounts'],
      ['src/accounts/reads-in-parts.ts', 'bookings', 'directions-of-accounts'],
      ['src/bookings/locks-eligibilities.ts', 'eligibilities', 'changed-by-its-owner'],
      ['src/bookings/locks-in-lower-case.ts', 'eligibilities', 'changed-by-its-owner'],
      ['src/bookings/locks-its-own.ts', 'eligibilities'],
      ['src/bookings/reads-eligibilities.ts', 'eligibilities'],
      ['src/bookings/writes-eligibilities.ts', 'eligibilities', 'changed-by-its-owner'],
      ['src/bookings/writes-in-lower-case.ts', 'eligibilities', 'changed-by-its-owner'],
      ['src/notifications/reads-accounts.ts', 'accounts', 'directions-of-notifications'],
    ]);
    expect(hiddenTablesIn(violations)).toEqual(['src/auth/hides-the-table.ts', 'src/auth/hides-the-table.ts']);
  });
});

describe('SQL statements on tables with an account', () => {
  it('every SQL statement on a table with account data is limited to one account, or acrossAccounts states why it is not', () => {
    const wrong = statements.flatMap((statement) =>
      brokenBounds(statement, schema).map((rule) => `${rule}: ${toldOf(statement)}`),
    );
    expect(wrong).toEqual([]);
  });

  const of = (file: string): SqlText[] => planted.filter((statement) => statement.file === file);

  it('the SQL check reports each planted statement that is not limited to an account', () => {
    const found: Record<string, string[]> = {};
    for (const statement of of('src/eligibility/unbound.ts'))
      for (const rule of brokenBounds(statement, schema)) (found[rule] ??= []).push(statement.name!);
    expect(Object.values(found).flat().length).toBe(of('src/eligibility/unbound.ts').length);
    expect(Object.keys(found).sort()).toEqual([...BOUND_RULES].sort());
    expect(found).toEqual({
      'bounds-the-account': [
        'a list without a bound',
        'a bound of another column',
        'a count',
        'an EXISTS',
        'a subquery among the columns',
        'a CTE',
        'a CTE that writes',
        'a LATERAL join by what is no key',
        'an UPDATE FROM by what is no key',
        'a DELETE USING with the other table bound',
        'a bound that is ORed away',
        'a bound in one branch of an OR',
        'a bound that falls with another parameter',
        'a bound that is negated',
        'every account but one',
        'an ALL',
        'a bound by itself',
        'two tables that bound each other alone',
        'an outer join whose condition bounds',
        'a bound of the figures alone',
        'a bound of the groups alone',
        'one side of a UNION',
        'a key without a reason',
        'an upsert that conflicts on a key without the account',
        'a lock of the table',
      ],
      'gives-no-needless-reason': ['a needless reason'],
      'reads-by-key': ['a key that is none', 'a checked list'],
      'answers-with-the-account': ['an answer that nobody can check'],
      'gives-reason-of-its-place': ['the reason of another module'],
    });
  });

  it('the SQL check accepts each form in which a statement can be limited to an account', () => {
    expect(of('src/eligibility/bound.ts').length).toBe(9);
    for (const statement of of('src/eligibility/bound.ts'))
      expect([statement.name, brokenBounds(statement, schema)]).toEqual([statement.name, []]);
  });
});

describe('volatile functions in SQL', () => {
  it('the SQL statements of the service call volatile functions only to create rows', () => {
    expect(volatileFunctionsIn(root)).toEqual([
      'src/notifications/delivery/delivery.entity.ts: clock_timestamp',
      'src/notifications/delivery/notification.entity.ts: clock_timestamp',
      'src/notifications/delivery/translation-statement.ts: nextval',
      'src/platform/audit/audit-seals.ts: nextval',
    ]);
  });

  it('the SQL check reports planted calls of volatile functions in an UPDATE and in a fragment of a statement', () => {
    expect(volatileFunctionsIn(violations)).toEqual([
      'src/notifications/draws-in-an-update.ts: clock_timestamp',
      'src/notifications/draws-in-an-update.ts: random',
      'src/notifications/draws-in-an-update.ts: nextval',
    ]);
  });
});
