import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import pg from 'pg';
import { createServer as createHttpsServer, type Server } from 'node:https';
import {
  NotificationReceiver,
  POSTGRES_SCHEMA,
  PostgresStore,
  catchUp,
  notificationListener,
  sign,
} from '../../clients/partner/src/index';
import { startApp, type TestApp } from '../support/app';
import { cloneDatabase } from '../support/database';
import { eventually } from '../support/eventually';
import { sharedCertificates } from '../support/partner';

const ROOT = resolve(__dirname, '../..');
const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const README = readFileSync(join(ROOT, 'clients/partner/README.md'), 'utf8');
const NAME = '@candidate-eligibility/partner';

let folder: string;
let database: Awaited<ReturnType<typeof cloneDatabase>>;
let app: TestApp;
const running: ChildProcess[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'eligibility-partner-'));
  const built = spawnSync('node', ['scripts/build-clients.mjs', folder], { cwd: ROOT, encoding: 'utf8' });
  if (built.status !== 0) throw new Error(built.stderr);
  installed();
  for (const [, name, code] of README.matchAll(/^```js\n\/\/ (\S+)\n([\s\S]*?)^```$/gm))
    writeFileSync(join(folder, name), code);
  [database, app] = await Promise.all([cloneDatabase({ migrated: false }), startApp()]);
}, 180_000);

afterAll(async () => {
  for (const child of running) child.kill();
  await app?.close();
  await database?.drop();
  rmSync(folder, { recursive: true, force: true });
});

/** Installs the package from its tarball as npm would, together with Express and Fastify. */
function installed(): void {
  const packed = spawnSync('npm', ['pack', '--silent'], { cwd: join(folder, 'partner'), encoding: 'utf8' });
  const home = join(folder, 'node_modules', NAME);
  mkdirSync(home, { recursive: true });
  const tarball = join(folder, 'partner', packed.stdout.trim());
  spawnSync('tar', ['-xzf', tarball, '--strip-components=1', '-C', home]);
  for (const name of ['express', 'fastify', 'pg', '@types'])
    symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as { port: number };
  await new Promise((closed) => server.close(closed));
  return port;
}

function run(file: string, args: string[], env: Record<string, string>) {
  const { PATH } = process.env;
  const child = spawn('node', [file, ...args], { cwd: folder, env: { PATH, ...env } });
  running.push(child);
  const said = { output: '', code: new Promise<number | null>((done) => child.once('close', done)) };
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (said.output += chunk.toString('utf8')));
  return said;
}

let count = 0;
async function push(url: string, changes: Record<string, string> = {}, secret = SECRET): Promise<number> {
  const body = JSON.stringify({
    booking_code: 'B1',
    booking_on: '2027-01-01T10:00:00Z',
    candidate_fname: 'Ada',
    candidate_id: 'ADA-1',
    candidate_lname: 'Lovelace',
    change_reason: 'BOOKING_CREATED',
    effective_date: '2026-12-01T10:00:00Z',
    ...changes,
  });
  const id = `id-${++count}`;
  const at = Math.floor(Date.now() / 1000);
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(at),
    'webhook-signature': sign(secret, id, at, Buffer.from(body)),
    'event-sequence': String(count),
  };
  return (await fetch(url, { method: 'PUT', headers, body })).status;
}

describe('clients/partner/README.md', () => {
  it('the example partner.mjs handles every situation that the conformance program tests', async () => {
    const { good, authority } = await sharedCertificates();
    const port = await freePort();
    const files = { TLS_CERT: good.certPem, TLS_KEY: good.keyPem, 'ca.pem': authority.certPem };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    const partner = run('partner.mjs', [], {
      WEBHOOK_SECRET: SECRET,
      TLS_CERT: 'TLS_CERT',
      TLS_KEY: 'TLS_KEY',
      PORT: String(port),
    });
    const program = join('node_modules', NAME, 'dist/cjs/conformance.js');
    const args = ['--url', `https://localhost:${port}/`, '--secret', SECRET, '--ca', 'ca.pem'];
    await eventually(async () => {
      const judged = run(program, args, {});
      expect(`${await judged.code} ${judged.output}`).toMatch(/^0 [^]*33 of 33 situations passed\.\n$/);
    }, 30_000);
    expect(partner.output).toContain('EXCUSED_ABSENT CONF');
    expect(partner.output).toContain('401 signature_wrong');
  });

  it('express-partner.cjs stores each booking once, in an application whose other routes parse JSON', async () => {
    const port = await freePort();
    const partner = run('express-partner.cjs', [], {
      WEBHOOK_SECRET: SECRET,
      DATABASE_URL: database.url,
      PORT: String(port),
    });
    const url = `http://localhost:${port}/notifications`;
    await eventually(async () => expect(await push(url)).toBe(200), 20_000);
    expect(await push(url, { change_reason: 'BOOKING_CANCELLED' })).toBe(200);
    expect(await push(url, { candidate_id: 'NOBODY' })).toBe(400);
    expect(await push(url, {}, `whsec_${Buffer.alloc(32, 8).toString('base64')}`)).toBe(401);
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    const { rows } = await client.query('SELECT booking_code, state FROM appointments');
    expect(rows).toEqual([{ booking_code: 'B1', state: 'BOOKING_CANCELLED' }]);
    await client.query('DROP TABLE appointments');
    expect(await push(url)).toBe(500);
    await client.end();
    expect(partner.output).toContain('appointments');
  });

  it('fastify-partner.mjs receives notifications under a path prefix, signed with either of its two secrets', async () => {
    const port = await freePort();
    const older = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
    const partner = run('fastify-partner.mjs', [], { WEBHOOK_SECRET: `${SECRET} ${older}`, PORT: String(port) });
    const url = `http://localhost:${port}/exams/notifications`;
    await eventually(async () => expect(await push(url)).toBe(200), 20_000);
    expect(await push(url, { change_reason: 'ABSENT' }, older)).toBe(200);
    expect(await push(url, {}, `whsec_${Buffer.alloc(32, 8).toString('base64')}`)).toBe(401);
    await eventually(() => expect(partner.output).toContain('ABSENT B1'));
  });

  it('catch-up.mjs prints the entries of the change feed and a cursor, from which the next run continues', async () => {
    const scene = await app.given.scene();
    const { booking_code } = await app.given.booking(scene, await app.given.eligibility(scene));
    const env = { WEBHOOK_SECRET: SECRET, BASE_URL: app.url, ACCOUNT: scene.account, ACCESS_TOKEN: scene.token };
    const first = run('catch-up.mjs', [], env);
    expect(await first.code).toBe(0);
    expect(first.output).toContain(`BOOKING_CREATED ${booking_code}\ncursor `);
    const [, cursor] = /cursor (\S+)/.exec(first.output)!;
    const second = run('catch-up.mjs', [], { ...env, CURSOR: cursor });
    expect(await second.code).toBe(0);
    expect(second.output).toMatch(/^cursor \S+\n$/);
    const refused = run('catch-up.mjs', [], { ...env, CURSOR: 'none' });
    expect(await refused.code).not.toBe(0);
    expect(refused.output).toContain('The change feed answered 400 validation_error.');
  });

  it('the README of the partner package contains only programs that these tests run', () => {
    const named = [...README.matchAll(/^```js\n\/\/ (\S+)$/gm)].map(([, name]) => name);
    expect(named.length).toBe([...README.matchAll(/^```js$/gm)].length);
    expect(named).toEqual(['partner.mjs', 'express-partner.cjs', 'fastify-partner.mjs', 'catch-up.mjs']);
  });
});

describe('the packed package', () => {
  it('the packed partner package contains its test vectors, and type declarations for ES modules and CommonJS', () => {
    const home = join(folder, 'node_modules', NAME);
    expect(readdirSync(home).sort()).toEqual(['README.md', 'dist', 'package.json', 'vectors.json']);
    const use = `
      import Fastify from 'fastify';
      import { Pool } from 'pg';
      import { NotificationReceiver, notificationPlugin, PostgresStore } from '${NAME}';
      const receiver = new NotificationReceiver({
        secrets: 'whsec_',
        store: new PostgresStore(new Pool()),
        work: async ({ change_reason }, client) => void (await client.query('SELECT $1', [change_reason])),
      });
      void Fastify().register(notificationPlugin(receiver));
    `;
    for (const name of ['use.mts', 'use.cts']) writeFileSync(join(folder, name), use);
    const options = [
      '--noEmit',
      '--strict',
      '--skipLibCheck',
      '--esModuleInterop',
      '--target',
      'es2023',
      '--types',
      'node',
    ];
    const compiled = spawnSync(
      'node',
      [
        join(ROOT, 'node_modules/typescript/bin/tsc'),
        '--ignoreConfig',
        ...options,
        '--module',
        'node20',
        'use.mts',
        'use.cts',
      ],
      { cwd: folder, encoding: 'utf8' },
    );
    expect(compiled.stdout).toBe('');
  });
});

describe('a partner that uses the package with its own PostgreSQL', () => {
  let pool: pg.Pool;
  let server: Server;
  let failures = 0;
  const receiver = () =>
    new NotificationReceiver({
      secrets: secret,
      store: new PostgresStore(pool),
      work: async ({ booking_code, change_reason }, transaction) => {
        await transaction.query('INSERT INTO told VALUES ($1, $2)', [booking_code, change_reason]);
        if (failures-- > 0) throw new Error('planned');
      },
    });
  let secret = SECRET;
  const told = async (booking: string) =>
    (
      await pool.query<{ change: string }>('SELECT change FROM told WHERE booking_code = $1 ORDER BY id', [booking])
    ).rows.map(({ change }) => change);

  beforeAll(async () => {
    pool = new pg.Pool({ connectionString: database.url });
    // The test creates the tables as release 1.0.0 of the package created them.
    await pool.query(`
      DROP TABLE IF EXISTS taken_notifications, notified_bookings, notified_records;
      CREATE TABLE taken_notifications (webhook_id text PRIMARY KEY, taken_at timestamptz NOT NULL DEFAULT now());
      CREATE TABLE notified_bookings (booking_code text PRIMARY KEY, event_sequence integer NOT NULL);
      INSERT INTO taken_notifications VALUES ('taken before');`);
    await pool.query(POSTGRES_SCHEMA);
    await pool.query('CREATE TABLE told (booking_code text, change text, id serial)');
    const { good } = await sharedCertificates();
    server = createHttpsServer({ cert: good.certPem, key: good.keyPem }, (request, response) =>
      notificationListener(receiver())(request, response),
    );
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  });

  afterAll(async () => {
    server.closeAllConnections();
    server.close();
    await pool.end();
  });

  it('after an upgrade of the package, a notification in the tables of release 1.0.0 is recognised as a repeat', async () => {
    const notification = { booking_code: 'U1', effective_date: '2026-12-01T10:00:00Z' } as never;
    expect(await receiver().take({ id: 'taken before', sequence: 1, notification })).toBe('repeat');
  });

  it('a partner that uses the package with its own database stores a retried notification once, and fetches notifications that were lost by a restore', async () => {
    const { authority } = await sharedCertificates();
    const { port } = server.address() as { port: number };
    const scene = await app.given.scene();
    const operator = await app.given.operator();
    const created = await app.call('POST', '/admin/subscriptions', {
      token: operator,
      body: { account_code: scene.account, partner_url: `https://localhost:${port}`, ca_pem: authority.certPem },
    });
    secret = created.body.signing_secret;
    const verified = await app.call('POST', `/admin/subscriptions/${created.body.id}/verify`, { token: operator });
    expect(verified.body).toMatchObject({ state: 'ACTIVE' });
    expect((await pool.query('SELECT 1 FROM told')).rowCount).toBe(0);

    failures = 2;
    const { booking_code } = await app.given.booking(scene, await app.given.eligibility(scene));
    const path = `/accounts/${scene.account}/bookings/${booking_code}`;
    expect((await app.call('DELETE', path, { token: scene.token })).status).toBe(204);
    const both = ['BOOKING_CREATED', 'BOOKING_CANCELLED'];
    await eventually(async () => expect(await told(booking_code)).toEqual(both), 30_000);

    await pool.query('TRUNCATE told, taken_notifications, notified_bookings');
    const feed = { baseUrl: app.url, accountCode: scene.account, accessToken: () => Promise.resolve(scene.token) };
    const kept: string[] = [];
    const keepCursor = (cursor: string) => {
      kept.push(cursor);
      return Promise.resolve();
    };
    const cursor = await catchUp(receiver(), { ...feed, keepCursor });
    expect(await told(booking_code)).toEqual(both);
    expect(kept.at(-1)).toBe(cursor);
    // A second catch-up from the beginning of the feed changes nothing, because the partner has already stored every
    // notification in the feed.
    await catchUp(receiver(), feed);
    expect(await told(booking_code)).toEqual(both);
  });

  it('a partner that uses the package applies a notification once when ten copies arrive at the same moment', async () => {
    const received = {
      id: 'parallel',
      sequence: 1,
      notification: { booking_code: 'P1', change_reason: 'ABSENT', effective_date: '2026-12-01T10:00:00Z' } as never,
    };
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => receiver().take(received)));
    expect(outcomes.sort()).toEqual(['applied', ...Array.from({ length: 9 }, () => 'repeat')]);
    expect(await told('P1')).toEqual(['ABSENT']);
    expect(await receiver().take({ ...received, id: 'later', sequence: 3 })).toBe('applied');
    expect(await receiver().take({ ...received, id: 'late', sequence: 2 })).toBe('late');
    expect(await receiver().take({ ...received, id: null, sequence: 3 })).toBe('repeat');
  });

  it('PostgresStore reports whether an event is the newest of its record, and stores a digest of each notification', async () => {
    const store = new PostgresStore(pool);
    const newest: boolean[] = [];
    for (const [index, [booking_code, second]] of [
      ['N1', '01'],
      ['N2', '03'],
      ['N3', '02'],
    ].entries()) {
      const notification = { booking_code, client_eligibility_id: 'N', effective_date: `2026-12-02T10:00:${second}Z` };
      const arrival = { id: booking_code, sequence: 1, notification: notification as never, digest: `0${index}` };
      await store.once(arrival, (_client, isNewestOfRecord) => Promise.resolve(void newest.push(isNewestOfRecord)));
    }
    expect(newest).toEqual([true, true, false]);
    const from = Date.parse('2026-12-02T10:00:02Z') / 1000;
    expect(await store.kept(from, from + 1)).toEqual([{ id: 'N3', atS: from, digest: '02' }]);
  });
});
