import { SchedulerRegistry } from '@nestjs/schedule';
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { runAdminCommand } from '../../src/admin-cli';
import { AuditSeals } from '../../src/platform/audit/audit-seals';
import { verifyAudit } from '../../src/platform/audit/audit-verification';
import { signatureOf, SIGNED_COLUMNS, type SignedSeal } from '../../src/platform/audit/audit-signature';
import { Config } from '../../src/config';
import { Secrets } from '../../src/platform/secrets';
import { migrate } from '../../src/platform/database/migrate';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';

const randomKey = () => randomBytes(32).toString('base64');
const configWith = (SECRETS_KEY: string) => new Config({ DATABASE_URL: app.databaseUrl, SECRETS_KEY });

let app: TestApp;
let operator: string;

beforeAll(async () => {
  app = await startApp();
  operator = await app.given.operator();
});
afterAll(() => app.close());

type Row = Record<string, unknown>;
const rowsOf = async (query: string): Promise<Row[]> => {
  const { status, body } = await app.call('GET', `/admin/audit?${query}`, { token: operator });
  expect(status).toBe(200);
  return body as Row[];
};

/** Returns the user and the application of a token in the form in which audit rows contain them. */
async function ownerOf(token: string): Promise<{ actor: string; application: string }> {
  const [owner] = await app.given.sql(
    `SELECT family.username AS actor, family.consumer_key AS application
     FROM access_tokens JOIN token_families family USING (family_id) WHERE token_hash = sha256($1::bytea)`,
    [token],
  );
  return owner as { actor: string; application: string };
}

describe('an audit row', () => {
  it('an audit row records who changed an eligibility record, in which request, and which members changed, but not their values', async () => {
    const scene = await app.given.scene();
    const owner = await ownerOf(scene.token);
    const created = await app.given.eligibility(scene);
    const id = created['svc_eligiblity_id'] as string;
    const path = `/accounts/${scene.account}/candidates/${created['candidate'].candidate_id}/tests/${scene.testCode}`;
    const changed = {
      ...created,
      candidate: { ...created['candidate'], city: 'Springfield', email: 'new@example.org' },
    };
    const update = await app.call('PUT', path, { token: scene.token, body: changed });
    expect(update.status).toBe(204);
    const rows = await rowsOf(`subject=${id}`);
    expect(rows).toEqual([
      {
        id: expect.any(Number),
        at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        ...owner,
        account_code: scene.account,
        action: 'eligibility.update',
        subject: id,
        request_id: update.headers.get('x-request-id'),
        changed: ['city', 'email'],
        count: null,
        address: null,
      },
      expect.objectContaining({ ...owner, account_code: scene.account, action: 'eligibility.create', changed: [] }),
    ]);
    expect(JSON.stringify(rows)).not.toContain('Springfield');
  });

  it("an audit row of an administrative request records the account concerned and the names of the body's members", async () => {
    const scene = await app.given.scene();
    const [id] = [(await app.given.eligibility(scene))['svc_eligiblity_id'] as string];
    await app.call('POST', `/admin/eligibilities/${id}/hold`, { token: operator, body: { reason: 'Fee is open' } });
    expect(await rowsOf(`subject=${id}&action=eligibility.hold`)).toMatchObject([
      { account_code: scene.account, changed: ['reason'] },
    ]);
    const username = app.given.unique('user-');
    const password = 'seven grey herons wait';
    const user = { username, password, scopes: ['read'], account_codes: [scene.account] };
    await app.call('POST', '/admin/users', { token: operator, body: user });
    await app.call('PUT', `/admin/users/${username}`, { token: operator, body: { disabled: true } });
    expect((await rowsOf(`subject=${username}`)).map(({ action, changed }) => [action, changed])).toEqual([
      ['user.update', ['disabled']],
      ['user.create', ['username', 'password', 'scopes', 'account_codes']],
    ]);
    await app.call('PUT', `/admin/accounts/${scene.account}/schools/S-1`, { token: operator, body: { name: 'Elm' } });
    expect(await rowsOf(`subject=${scene.account}/S-1`)).toMatchObject([
      { action: 'school.put', account_code: scene.account, changed: ['name'] },
    ]);
  });

  it('an audit row records the redemption of a launch link', async () => {
    const scene = await app.given.scene();
    const { svc_eligiblity_id: id } = await app.given.eligibility(scene);
    const info = await app.call('GET', `/eligibilities/${id}/testLaunchInfo`, { token: scene.token });
    const redeemed = await app.call('GET', new URL(info.body.launch_url as string).pathname);
    expect(redeemed.status).toBe(303);
    expect(await rowsOf(`subject=${id}&action=launch.redeem`)).toMatchObject([
      { actor: 'system', application: null, account_code: scene.account, subject: id },
    ]);
    expect(JSON.stringify(await rowsOf(`subject=${id}`))).not.toContain((info.body.launch_url as string).slice(-43));
  });
});

test('GET /admin/audit lists only the audit rows of the account in the query', async () => {
  const [one, other] = [await app.given.scene(), await app.given.scene()];
  const { svc_eligiblity_id: id } = await app.given.eligibility(one);
  await app.given.eligibility(other);
  const rows = await rowsOf(`account_code=${one.account}`);
  expect(rows.map(({ subject }) => subject)).toEqual([id]);
  const unknown = await app.call('GET', '/admin/audit?account_code=NOSUCHACCOUNT', { token: operator });
  expect([unknown.status, unknown.body.code]).toEqual([400, 'account_not_found']);
});

describe('the seals of the audit log', () => {
  let sealed: TestApp;
  let other: TestApp;
  let key: string;

  beforeEach(async () => {
    key = randomKey();
    sealed = await startApp({ env: { SECRETS_KEY: key } });
    other = await startApp({ env: { SECRETS_KEY: key }, databaseUrl: sealed.databaseUrl });
  });
  afterEach(async () => {
    await other.close();
    await sealed.close();
  });

  const add = (subject: string, query = sealed.given.sql.bind(sealed.given)) =>
    query(`INSERT INTO audit_log (actor, action, subject) VALUES ('system', 'test', $1) RETURNING id`, [subject]);
  const seal = () => Promise.all([sealed, other].map(({ app: one }) => one.get(AuditSeals, { strict: false }).seal()));
  const verify = (anchor: string | null = null, keys = key) =>
    verifyAudit(sealed.databaseUrl, new Secrets(configWith(keys).secrets), anchor);
  const state = async () => sealed.call('GET', '/admin/audit/seals', { token: await sealed.given.operator() });
  /** Changes rows as an attacker with the rights of the table owner could. The owner can disable the triggers. */
  const tamper = async (statement: string, values: unknown[] = []) => {
    const table = /audit_(log|seals)/.exec(statement)![0];
    await sealed.given.sql(`ALTER TABLE ${table} DISABLE TRIGGER USER`);
    await sealed.given.sql(statement, values);
    await sealed.given.sql(`ALTER TABLE ${table} ENABLE TRIGGER USER`);
  };
  /**
   * Moves the times of the seals the given number of minutes into the past, and signs the seals again. Only a seal that
   * is older than ten seconds can count as settled, which means that no row can still be added among its ids.
   */
  const pass = async (minutes = 1) => {
    await tamper(`UPDATE audit_seals SET at = at - interval '${minutes} minutes'`);
    const seals = await sealed.given.sql(`SELECT ${SIGNED_COLUMNS} FROM audit_seals`);
    for (const seal of seals as unknown as SignedSeal[]) {
      const { key_id, mac } = signatureOf(sealed.app.get(Secrets), seal);
      await tamper('UPDATE audit_seals SET key_id = $2, mac = $3 WHERE seal_id = $1', [seal.seal_id, key_id, mac]);
    }
  };
  /** Stops the background sealing of the audit log, so that only the test adds seals. */
  const still = () => {
    for (const { app: one } of [sealed, other]) {
      const registry = one.get(SchedulerRegistry, { strict: false });
      for (const name of registry.getIntervals()) registry.deleteInterval(name);
    }
  };

  /**
   * Adds a row in a transaction that stays open, commits another row, and seals the committed rows.
   * @returns a function that commits the first row
   */
  const sealedBeforeCommit = async () => {
    const slow = new pg.Client({ connectionString: sealed.databaseUrl });
    await slow.connect();
    await slow.query('BEGIN');
    await add('committed late', async (text, values) => (await slow.query(text, values)).rows);
    await add('at once');
    await seal();
    return async () => {
      await slow.query('COMMIT');
      await slow.end();
    };
  };

  it('several processes seal audit rows in the background, each row in exactly one seal', async () => {
    await Promise.all(Array.from({ length: 40 }, (_, at) => add(`row ${at}`)));
    await eventually(async () => {
      const verdict = await verify();
      expect(verdict).toMatchObject({ agrees: true, rows: 40, last: expect.stringMatching(/^[0-9a-f]{64}$/) });
    });
    await add('one more');
    await seal();
    expect(await verify()).toMatchObject({ agrees: true, rows: 41 });
    const ids = await sealed.given.sql('SELECT unnest(ids) AS id FROM audit_seals');
    expect(new Set(ids.map(({ id }) => id)).size).toBe(41);
  });

  it('seals audit rows that were committed after later rows had been sealed', async () => {
    still();
    const commit = await sealedBeforeCommit();
    await pass();
    await seal();
    expect(await verify()).toMatchObject({ agrees: true, rows: 1 });
    await commit();
    await seal();
    await pass();
    expect(await verify()).toMatchObject({ agrees: true, rows: 2 });
  });

  it('seals an audit row that was committed late, even if the rows after it do not fit into one seal', async () => {
    still();
    const commit = await sealedBeforeCommit();
    await commit();
    await pass();
    await Promise.all(Array.from({ length: 250 }, (_, at) => add(`row ${at}`)));
    await seal();
    await pass();
    await seal();
    expect(await verify()).toMatchObject({ agrees: true, rows: 252 });
  });

  it.each([
    ['changed', (id: number) => [`UPDATE audit_log SET actor = 'nobody' WHERE id = ${id}`, 'the row was changed']],
    ['taken away', (id: number) => [`DELETE FROM audit_log WHERE id = ${id}`, 'the row was deleted']],
  ])(
    'verify-audit reports the first audit row that does not agree with its seal when a row is %s',
    async (_what, tampering) => {
      still();
      const ids: number[] = [];
      for (let at = 0; at < 6; at++) {
        ids.push(Number((await add(`row ${at}`))[0]['id']));
        if (at % 2 === 1) await seal();
      }
      expect(await verify()).toMatchObject({ agrees: true, rows: 6 });
      const { body: whole } = await state();
      expect(whole).toMatchObject({
        sealed_through: ids[5],
        waiting: 0,
        checked_seals: 3,
        checked_rows: 6,
        agrees: true,
      });
      const [statement, because] = tampering(ids[3]);
      await tamper(statement);
      expect((await state()).body).toMatchObject({ checked_seals: 1, agrees: false, from_row: ids[3], because });
      expect(await verify()).toEqual({ agrees: false, fromRow: ids[3], because, upToAnchor: null });
      const said = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
      const code = await runAdminCommand(['verify-audit'], sealed.app);
      const out = said.mock.calls.join('');
      said.mockRestore();
      expect([code, out]).toEqual([1, expect.stringContaining(`from row ${ids[3]} on`)]);
    },
  );

  it('verify-audit detects an inserted audit row, and a seal that was changed or deleted', async () => {
    still();
    const [{ id: between }] = await sealed.given.sql(
      `SELECT nextval(pg_get_serial_sequence('audit_log', 'id'))::int AS id`,
    );
    await add('first');
    await seal();
    await pass(20);
    const [{ id: second }] = await add('second');
    await seal();
    await add('third');
    await seal();
    expect(await verify()).toMatchObject({ agrees: true });
    await sealed.given.sql(
      `INSERT INTO audit_log (id, actor, action, subject) OVERRIDING SYSTEM VALUE VALUES ($1, 'x', 'y', 'z')`,
      [between],
    );
    expect(await verify()).toMatchObject({ agrees: false, fromRow: Number(between) });
    await tamper('DELETE FROM audit_log WHERE id = $1', [between]);
    expect(await verify()).toMatchObject({ agrees: true });
    await tamper('DELETE FROM audit_seals WHERE seal_id = (SELECT min(seal_id) FROM audit_seals)');
    expect(await verify()).toMatchObject({ agrees: false, fromRow: Number(second) });
  });

  it('GET /admin/audit/seals reports the last sealed row and the number of rows without a seal', async () => {
    still();
    expect((await state()).body).toEqual({
      sealed_through: null,
      last_seal_datetime: null,
      last_seal: null,
      waiting: 0,
      oldest_waiting_datetime: null,
      checked_seals: 0,
      checked_rows: 0,
      agrees: true,
      from_row: null,
      because: null,
    });
    await add('sealed');
    await seal();
    await add('not yet');
    const verdict = await verify();
    expect((await state()).body).toMatchObject({
      last_seal: verdict.agrees && verdict.last,
      last_seal_datetime: expect.any(String),
      waiting: 1,
      oldest_waiting_datetime: expect.any(String),
      checked_rows: 1,
    });
    const support = await sealed.given.token([await sealed.given.account()], ['support']);
    expect((await sealed.call('GET', '/admin/audit/seals', { token: support })).status).toBe(403);
  });

  it('the database refuses changes to audit seals and audit rows', async () => {
    await add('row');
    await seal();
    for (const statement of ['UPDATE audit_seals SET at = now()', 'DELETE FROM audit_log', 'TRUNCATE audit_seals'])
      await expect(sealed.given.sql(statement)).rejects.toThrow('append-only');
  });
});

describe('npm run admin -- grants', () => {
  it('npm run admin -- grants prints the SQL for a role that can run the service, but can neither rewrite the audit log nor change the schema', async () => {
    const secretsKey = randomKey();
    const owner = await startApp({ env: { SECRETS_KEY: secretsKey } });
    const role = `least "rights" ${Date.now()}`;
    const said = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
    const code = await runAdminCommand(['grants', '--role', role], owner.app);
    const sql = said.mock.calls.join('');
    said.mockRestore();
    expect(code).toBe(0);
    await owner.given.sql(sql);
    // The SQL statements that `grants` prints have no further effect when they run for the second time.
    await owner.given.sql(sql);
    const url = new URL(owner.databaseUrl);
    url.username = encodeURIComponent(role);
    url.password = 'least';
    await owner.given.sql(`ALTER ROLE "${role.replaceAll('"', '""')}" PASSWORD 'least'`);
    await migrate(url.href);
    const poor = await startApp({ databaseUrl: url.href, env: { SECRETS_KEY: secretsKey } });
    try {
      const scene = await poor.given.scene();
      const eligibility = await poor.given.eligibility(scene);
      await poor.given.booking(scene, eligibility);
      const launch = await poor.given.eligibility(scene);
      const path = `/eligibilities/${launch['svc_eligiblity_id']}/testLaunchInfo`;
      expect((await poor.call('GET', path, { token: scene.token })).status).toBe(200);
      await poor.app.get(AuditSeals, { strict: false }).seal();
      expect(await verifyAudit(url.href, poor.app.get(Secrets))).toMatchObject({ agrees: true });
      for (const statement of [
        'UPDATE audit_log SET count = 1',
        'DELETE FROM audit_log',
        'DELETE FROM audit_seals',
        'ALTER TABLE audit_log DISABLE TRIGGER USER',
        'CREATE TABLE mine (id int)',
        `INSERT INTO migrations (timestamp, name) VALUES (1, 'x')`,
      ])
        await expect(poor.given.sql(statement)).rejects.toMatchObject({ code: '42501' });
    } finally {
      await poor.close();
      await owner.given.sql(`DROP OWNED BY "${role.replaceAll('"', '""')}"`);
      await owner.given.sql(`DROP ROLE "${role.replaceAll('"', '""')}"`);
      await owner.close();
    }
  });
});
