import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { arrowsIn, brokenBy, hiddenTablesIn, ownersIn, volatileFunctionsIn } from './tables';

const root = join(__dirname, '../..');
const violations = join(__dirname, 'violations');

describe('a table belongs to one module', () => {
  const owners = ownersIn(root);

  it('in whose folder its entity stands; every table of the migrations has one', () => {
    const made = new Set<string>();
    const folder = join(root, 'src/migrations');
    for (const file of readdirSync(folder).sort()) {
      const sql = readFileSync(join(folder, file), 'utf8');
      for (const [, name] of sql.matchAll(/CREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?(\w+)/g)) made.add(name);
      for (const [, name] of sql.matchAll(/DROP TABLE (?:IF EXISTS )?(\w+)/g)) made.delete(name);
    }
    expect([...owners.keys()].sort()).toEqual([...made].sort());
  });

  it('and is read by SQL of modules that may use the owner, and changed by no other', () => {
    const wrong = arrowsIn(root, owners).filter((arrow) => brokenBy(arrow).length > 0);
    expect(wrong.map((arrow) => `${brokenBy(arrow).join()}: ${arrow.file} → ${arrow.to} (${arrow.table})`)).toEqual([]);
  });

  it('and its name stands in the statement, not put together at run time', () => {
    expect(hiddenTablesIn(root)).toEqual([]);
  });
});

describe('the check of the tables', () => {
  it('is broken by planted SQL in the ways that SQL is written', () => {
    const owners = ownersIn(violations);
    const found = arrowsIn(violations, owners).map((arrow) => [arrow.file, arrow.table, ...brokenBy(arrow)]);
    expect(found).toEqual([
      ['src/accounts/joins-eligibilities.ts', 'eligibilities', 'directions-of-accounts'],
      ['src/accounts/reads-eligibilities.ts', 'eligibilities', 'directions-of-accounts'],
      ['src/bookings/locks-eligibilities.ts', 'eligibilities', 'changed-by-its-owner'],
      ['src/bookings/reads-eligibilities.ts', 'eligibilities'],
      ['src/bookings/writes-eligibilities.ts', 'eligibilities', 'changed-by-its-owner'],
      ['src/notifications/reads-accounts.ts', 'accounts', 'directions-of-notifications'],
      ['src/platform/reads-accounts.ts', 'accounts', 'platform-knows-no-module'],
    ]);
    expect(hiddenTablesIn(violations)).toEqual(['src/auth/hides-the-table.ts']);
  });
});

describe('a statement means the same wherever it is carried out', () => {
  it('no volatile function stands in SQL but where rows are made', () => {
    expect(volatileFunctionsIn(root)).toEqual([
      'src/notifications/delivery/delivery.entity.ts: clock_timestamp',
      'src/notifications/delivery/notification.entity.ts: clock_timestamp',
      'src/notifications/delivery/translation-statement.ts: nextval',
      'src/platform/audit/audit-seals.ts: nextval',
    ]);
  });

  it('and planted ones are found, in an UPDATE and in a part of one', () => {
    expect(volatileFunctionsIn(violations)).toEqual([
      'src/notifications/draws-in-an-update.ts: clock_timestamp',
      'src/notifications/draws-in-an-update.ts: random',
      'src/notifications/draws-in-an-update.ts: nextval',
    ]);
  });
});
