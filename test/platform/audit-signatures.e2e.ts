import { randomBytes } from 'node:crypto';
import { SchedulerRegistry } from '@nestjs/schedule';
import { runAdminCommand } from '../../src/admin-cli';
import { Config } from '../../src/config';
import { AuditMetrics } from '../../src/platform/audit/audit-metrics';
import { AuditSeals } from '../../src/platform/audit/audit-seals';
import { signatureOf, SIGNED_COLUMNS, type SignedSeal } from '../../src/platform/audit/audit-signature';
import { newestSeals, sealsFrom, verifyAudit } from '../../src/platform/audit/audit-verification';
import { Database } from '../../src/platform/database/database';
import { Logger } from '../../src/platform/observability/logger';
import { Metrics } from '../../src/platform/observability/metrics';
import { Secrets } from '../../src/platform/secrets';
import { startApp, type TestApp } from '../support/app';

const [key, newKey, foreignKey] = Array.from({ length: 3 }, () => randomBytes(32).toString('base64'));
const UNSIGNED = 'no key of SECRETS_KEY signed its seal, nor a later one';
const NOT_THERE = 'the history does not contain the seal: its end was deleted, or it was rewritten';
const CHANGED = 'its seal, or an earlier seal, was changed or deleted';

let app: TestApp;

beforeAll(async () => {
  app = await startApp({ env: { SECRETS_KEY: key } });
  // Stops the background sealing of the audit log, so that only the test adds seals.
  const registry = app.app.get(SchedulerRegistry, { strict: false });
  for (const name of registry.getIntervals()) registry.deleteInterval(name);
});
afterAll(() => app.close());
beforeEach(() => tamper('TRUNCATE audit_log, audit_seals'));

const sql = (text: string, values: unknown[] = []) => app.given.sql(text, values);
const secretsOf = (keys: string) =>
  new Secrets(new Config({ DATABASE_URL: app.databaseUrl, SECRETS_KEY: keys }).secrets);
/** Returns the object that seals the audit log, as a process with the given keys in `SECRETS_KEY` would create it. */
const sealsOf = (keys: string) => new AuditSeals(app.app.get(Database), secretsOf(keys), app.app.get(Logger));
const seal = (keys = key) => sealsOf(keys).seal();
const verify = (anchor: string | null = null, keys = key) => verifyAudit(app.databaseUrl, secretsOf(keys), anchor);

/** Changes rows as an attacker with the rights of the table owner could. The owner can disable the triggers. */
async function tamper(statement: string, values: unknown[] = []): Promise<void> {
  for (const table of ['audit_log', 'audit_seals']) await sql(`ALTER TABLE ${table} DISABLE TRIGGER USER`);
  await sql(statement, values);
  for (const table of ['audit_log', 'audit_seals']) await sql(`ALTER TABLE ${table} ENABLE TRIGGER USER`);
}

/** Adds rows to the audit log and seals them; returns the ids of the rows, and the seal. */
async function sealed(rows = 2, keys = key): Promise<{ ids: number[]; seal: string }> {
  const ids: number[] = [];
  for (let at = 0; at < rows; at++) {
    const [row] = await sql(`INSERT INTO audit_log (actor, action, subject) VALUES ('x', 'y', 'z') RETURNING id`);
    ids.push(Number(row['id']));
  }
  await seal(keys);
  const [{ hash }] = await sql(`SELECT encode(hash, 'hex') AS hash FROM audit_seals ORDER BY seal_id DESC LIMIT 1`);
  return { ids, seal: hash as string };
}

/** Moves the times of all seals by the given interval, and signs the seals again as a holder of the key could. */
async function shift(interval: string): Promise<void> {
  await tamper('UPDATE audit_seals SET at = at + $1::interval', [interval]);
  for (const row of (await sql(`SELECT ${SIGNED_COLUMNS} FROM audit_seals`)) as unknown as SignedSeal[])
    await tamper('UPDATE audit_seals SET mac = $2 WHERE seal_id = $1', [
      row.seal_id,
      signatureOf(secretsOf(key), row).mac,
    ]);
}

async function command(argv: string[], by = app): Promise<[code: number, out: string]> {
  const said = ['stdout', 'stderr'].map((stream) =>
    jest.spyOn(process[stream as 'stdout'], 'write').mockReturnValue(true),
  );
  try {
    const code = await runAdminCommand(argv, by.app);
    return [code, said.flatMap((one) => one.mock.calls).join('')];
  } finally {
    for (const one of said) one.mockRestore();
  }
}

it('finds an old changed row and a deleted seal when the audit log is compared with its seals a few seals at a time', async () => {
  const { ids } = await sealed();
  for (let more = 0; more < 6; more++) await sealed(1);
  await tamper(`UPDATE audit_log SET actor = 'nobody' WHERE id = $1`, [ids[0]]);
  const [database, secrets] = [app.app.get(Database), secretsOf(key)];
  expect(await newestSeals(database, secrets, 5)).toMatchObject({ agrees: true, checked_seals: 5 });
  const broken = await sealsFrom(database, secrets, '0', 3);
  expect(broken).toEqual({ fault: { fromRow: ids[0], because: 'the row was changed' }, next: '0' });
  await tamper(`UPDATE audit_log SET actor = 'x' WHERE id = $1`, [ids[0]]);
  let next = '0';
  let stretches = 0;
  do {
    const compared = await sealsFrom(database, secrets, next, 3);
    expect(compared.fault).toBeNull();
    ({ next } = compared);
    stretches += 1;
  } while (next !== '0');
  expect(stretches).toBe(4);
  // The first seal of a range is compared with the last seal of the range before it.
  const [{ seal_id }] = await sql('SELECT seal_id FROM audit_seals ORDER BY seal_id OFFSET 3 LIMIT 1');
  await tamper('DELETE FROM audit_seals WHERE seal_id = $1', [seal_id]);
  const second = await sealsFrom(database, secrets, (await sealsFrom(database, secrets, '0', 3)).next, 3);
  expect(second.fault?.because).toBe(CHANGED);
});

describe('verify-audit --from', () => {
  it('verify-audit --from finds a copied seal in an audit log that has grown since the copy', async () => {
    const first = await sealed();
    const last = await sealed(1);
    expect(await verify(first.seal)).toMatchObject({ agrees: true, rows: 3, upToAnchor: { rows: 2, seals: 1 } });
    expect(await command(['verify-audit', '--from', first.seal.toUpperCase()])).toEqual([
      0,
      'Up to the seal of --from the audit agrees: rows 2, seals 1.\n' +
        `The audit agrees with its seals: rows 3, seals 2, last seal ${last.seal}.\n`,
    ]);
  });

  it('verify-audit, given a copy of an earlier seal, detects that the newest rows were deleted together with their seals', async () => {
    const first = await sealed();
    const last = await sealed();
    await tamper('DELETE FROM audit_log WHERE id = ANY ($1)', [last.ids]);
    await tamper(`DELETE FROM audit_seals WHERE encode(hash, 'hex') = $1`, [last.seal]);
    expect(await verify(first.seal)).toMatchObject({ agrees: true, rows: 2 });
    expect(await verify(last.seal)).toMatchObject({ agrees: false, fromRow: null, because: NOT_THERE });
    expect(await command(['verify-audit', '--from', last.seal])).toEqual([
      1,
      `The audit agrees with its seals, but not with --from: ${NOT_THERE}.\n`,
    ]);
  });

  it('verify-audit, given a copy of an earlier seal, detects that the audit log was emptied, or that its rows were changed and sealed again', async () => {
    const { seal: kept } = await sealed();
    await tamper('TRUNCATE audit_seals');
    await tamper(`UPDATE audit_log SET actor = 'nobody'`);
    await seal();
    expect(await verify()).toMatchObject({ agrees: true });
    expect(await verify(kept)).toMatchObject({ agrees: false, because: NOT_THERE });
    await tamper('TRUNCATE audit_log, audit_seals');
    expect(await verify(kept)).toMatchObject({ agrees: false, because: NOT_THERE });
  });

  it('verify-audit confirms the audit log up to a copied seal when only a later row was changed', async () => {
    const first = await sealed();
    const { ids } = await sealed();
    await tamper(`UPDATE audit_log SET actor = 'nobody' WHERE id = $1`, [ids[0]]);
    expect(await verify(first.seal)).toMatchObject({
      agrees: false,
      fromRow: ids[0],
      upToAnchor: { rows: 2, seals: 1 },
    });
  });

  it('verify-audit accepts only a seal of 64 hexadecimal digits, and reports any other argument as a usage error', async () => {
    for (const rest of [['--from', 'abc'], ['--from'], ['--to', 'a'.repeat(64)], ['x']])
      expect(await command(['verify-audit', ...rest])).toEqual([2, expect.stringContaining('--from')]);
  });
});

describe('the signature of a seal', () => {
  it('the owner of the tables cannot forge a seal without the key', async () => {
    const { ids } = await sealed();
    await tamper('TRUNCATE audit_seals');
    await tamper(`UPDATE audit_log SET actor = 'nobody' WHERE id = $1`, [ids[1]]);
    await seal(foreignKey);
    expect(await verify()).toMatchObject({ agrees: false, fromRow: ids[0], because: UNSIGNED });
    // The owner of the tables can copy a key id from an existing seal, but does not have the key.
    await tamper('UPDATE audit_seals SET key_id = $1', [secretsOf(key).signingKeyId]);
    expect(await verify()).toMatchObject({ agrees: false, fromRow: ids[0], because: CHANGED });
  });

  it.each([
    ['settled', 'NULL'],
    ['settled', 'settled - 1'],
    ['through', 'through - 1'],
    ['horizon', 'horizon + 1'],
    ['at', `at + interval '1 microsecond'`],
    ['seal_id', 'DEFAULT'],
    ['ids', 'ARRAY[ids[2], ids[1]]'],
    ['digests', `overlay(digests PLACING '\\x00'::bytea FROM 8)`],
    ['before', `decode(repeat('ab', 32), 'hex')`],
    ['hash', `decode(repeat('ab', 32), 'hex')`],
    ['mac', `decode(repeat('ab', 32), 'hex')`],
    ['key_id', `decode(repeat('ab', 4), 'hex')`],
  ])('the signature of a seal reveals that its %s column was set to %s', async (column, value) => {
    await sealed();
    await shift('-20 minutes');
    await sealed();
    const { ids } = await sealed();
    expect(await verify()).toMatchObject({ agrees: true, rows: 6 });
    await tamper(`UPDATE audit_seals SET ${column} = ${value} WHERE seal_id = (SELECT max(seal_id) FROM audit_seals)`);
    expect(await verify()).toMatchObject({ agrees: false, fromRow: ids[0] });
    const state = await app.call('GET', '/admin/audit/seals', { token: await app.given.operator() });
    expect(state.body).toMatchObject({ agrees: false, from_row: ids[0], checked_seals: column === 'key_id' ? 3 : 2 });
  });

  it('seals can be verified after the keys rotate, and reencrypt makes the old key unnecessary', async () => {
    const old = await sealed();
    const both = `${newKey},${key}`;
    expect(await verify(null, both)).toMatchObject({ agrees: true, underNewestKey: false });
    expect(await verify(null, newKey)).toMatchObject({ agrees: false, fromRow: old.ids[0], because: UNSIGNED });
    expect(await sealsOf(both).countersign()).toEqual({ added: 1, done: true });
    expect(await sealsOf(both).countersign()).toEqual({ added: 0, done: true });
    for (const keys of [both, newKey])
      expect(await verify(old.seal, keys)).toMatchObject({
        agrees: true,
        rows: 2,
        seals: 2,
        underNewestKey: true,
        upToAnchor: { rows: 2, seals: 1 },
      });
    await sealed(1, newKey);
    expect(await verify(null, newKey)).toMatchObject({ agrees: true, rows: 3 });
    await tamper(`UPDATE audit_log SET actor = 'nobody' WHERE id = $1`, [old.ids[1]]);
    expect(await verify(null, newKey)).toMatchObject({ agrees: false, fromRow: old.ids[1] });
  });

  it('reencrypt signs seals with the newer key in a process that has two keys', async () => {
    await sealed();
    const rotated = await startApp({ env: { SECRETS_KEY: `${newKey},${key}` }, databaseUrl: app.databaseUrl });
    try {
      for (const added of [1, 0])
        expect(await command(['reencrypt'], rotated)).toEqual([
          0,
          expect.stringContaining(`audit_seals: ${added} added under the newest key\n`),
        ]);
    } finally {
      await rotated.close();
    }
    expect(await verify(null, newKey)).toMatchObject({ agrees: true, rows: 2, seals: 2 });
  });

  it('neither the service nor reencrypt adds a signature to a seal that no known key has signed', async () => {
    const { ids } = await sealed(1, foreignKey);
    await sealed();
    expect(await sql('SELECT count(*)::int AS count FROM audit_seals')).toEqual([{ count: 1 }]);
    expect(await command(['reencrypt'])).toEqual([1, expect.stringContaining(UNSIGNED)]);
    expect(await verify()).toMatchObject({ agrees: false, fromRow: ids[0], because: UNSIGNED });
  });
});

describe('the sealed audit log', () => {
  it('verify-audit detects that the first rows of the audit log were deleted together with their seals', async () => {
    const first = await sealed();
    const { ids } = await sealed();
    await tamper('DELETE FROM audit_log WHERE id = ANY ($1)', [first.ids]);
    await tamper(`DELETE FROM audit_seals WHERE encode(hash, 'hex') = $1`, [first.seal]);
    expect(await verify()).toMatchObject({ agrees: false, fromRow: ids[0], because: CHANGED });
  });

  it('the audit log agrees with its seals despite gaps from rolled-back rows, but not once a row is inserted into a gap', async () => {
    await sealed(1);
    const [{ id: gap }] = await sql(`SELECT nextval(pg_get_serial_sequence('audit_log', 'id'))::int AS id`);
    await sealed(1);
    await shift('-20 minutes');
    await sealed(1);
    expect(await verify()).toMatchObject({ agrees: true, rows: 3 });
    await sql(`INSERT INTO audit_log (id, actor, action, subject) OVERRIDING SYSTEM VALUE VALUES ($1, 'x', 'y', 'z')`, [
      gap,
    ]);
    await seal();
    expect(await verify()).toMatchObject({
      agrees: false,
      fromRow: gap,
      because: 'the row was added after its neighbours were sealed',
    });
  });

  it('the audit log agrees with its seals after the clock was set back and a row was committed late', async () => {
    const [{ id: late }] = await sql(`SELECT nextval(pg_get_serial_sequence('audit_log', 'id'))::int AS id`);
    await sealed();
    await shift('1 hour');
    await sealed();
    await sql(`INSERT INTO audit_log (id, actor, action, subject) OVERRIDING SYSTEM VALUE VALUES ($1, 'x', 'y', 'z')`, [
      late,
    ]);
    await seal();
    expect(await verify()).toMatchObject({ agrees: true, rows: 5 });
  });
});

describe('the metrics of seals', () => {
  const figures = async () => {
    await app.app.get(AuditMetrics, { strict: false }).read();
    return app.app.get(Metrics).registry.metrics();
  };

  it('the audit seal metrics show the newest seal at the start of the minute, and the last sealed row', async () => {
    expect(await figures()).toMatch(/^audit_sealed_through 0$/m);
    const first = await sealed();
    await shift('-2 minutes');
    const last = await sealed();
    await shift('1 minute');
    const [{ position }] = await sql('SELECT min(seal_id)::text AS position FROM audit_seals');
    const text = await figures();
    expect(text).toMatch(new RegExp(`^audit_sealed_through ${last.ids[1]}$`, 'm'));
    expect(text.match(/^audit_seal_info.*/gm)).toEqual([
      `audit_seal_info{position="${String(position)}",seal="${first.seal}"} 1`,
    ]);
    await tamper(`DELETE FROM audit_seals WHERE encode(hash, 'hex') = $1`, [last.seal]);
    expect(await figures()).toMatch(new RegExp(`^audit_sealed_through ${first.ids[1]}$`, 'm'));
  });

  it('the metrics of seals have no value until the database has answered, because 0 would mean that the audit log shrank', async () => {
    const metrics = new Metrics(app.config.observability, app.config.process);
    const figures = new AuditMetrics(app.app.get(Database), app.app.get(Logger), metrics);
    expect(await metrics.registry.metrics()).not.toMatch(/^audit_seal/m);
    await figures.read();
    expect(await metrics.registry.metrics()).toMatch(/^audit_sealed_through 0$/m);
  });
});
