import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import pg from 'pg';
import { cloneDatabase } from '../support/database';
import { startApp } from '../support/app';
import { ServiceProcess } from '../support/process';

const root = join(__dirname, '../..');
const SECRETS_KEY = randomBytes(32).toString('base64');
const NO_SANDBOX =
  'SANDBOX must be true: DATABASE_URL names the database of a sandbox, whose clock may be ahead and whose secrets are in a ' +
  'file. Start it as a sandbox (NODE_ENV must not be production), or name another database.\n';
const NOT_EMPTY =
  'SANDBOX must not be true: DATABASE_URL names a database that has accounts or users and is no sandbox. ' +
  'Start it with SANDBOX=false, or name an empty database.\n';

const folder = mkdtempSync(join(tmpdir(), 'eligibility-sandbox-'));
const drops: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const drop of drops) await drop();
  rmSync(folder, { recursive: true, force: true });
});

async function database(options?: { migrated: boolean }): Promise<string> {
  const made = await cloneDatabase(options);
  drops.push(() => made.drop());
  return made.url;
}

async function sql(url: string, statement: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(statement)).rows;
  } finally {
    await client.end();
  }
}

/** Runs a program of the service, and waits for its end. */
async function run(program: string[], env: Record<string, string>, input = ''): Promise<[status: number, err: string]> {
  const child = spawn(process.execPath, ['scripts/start.mjs', ...program], {
    cwd: root,
    env: { PATH: process.env['PATH'], DATA_DIR: folder, PORT: '0', METRICS_PORT: '0', SECRETS_KEY, ...env },
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  child.stdin.end(input);
  const [err, [status]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
  return [status as number, err];
}

const start = (url: string, env: Record<string, string>) =>
  ServiceProcess.start(folder, { DATABASE_URL: url, SECRETS_KEY, LOG_LEVEL: 'fatal', ...env });

const marksIn = (url: string) => sql(url, `SELECT nspname FROM pg_namespace WHERE nspname = 'sandbox'`);

// The tests are slow, because each test starts several processes.
jest.setTimeout(300_000);

describe('SANDBOX=true', () => {
  it.each([
    ['accounts', `INSERT INTO accounts (account_code, name) VALUES ('ACMEACMEACME', 'Acme')`],
    ['users', null],
  ])(
    'with SANDBOX=true, the service refuses a database that has %s and is not a sandbox, and changes nothing',
    async (_what, insert) => {
      const url = await database();
      if (insert) await sql(url, insert);
      else {
        const app = await startApp({ databaseUrl: url });
        await app.given.operator();
        await app.close();
      }
      for (const program of [[], ['admin', 'unlock-user', '--username', 'nobody']])
        expect(await run(program, { DATABASE_URL: url, SANDBOX: 'true' })).toEqual([1, NOT_EMPTY]);
      expect(await marksIn(url)).toEqual([]);
      expect(await sql(url, 'SELECT abs(extract(epoch FROM now() - pg_catalog.now()))::int AS ahead')).toEqual([
        { ahead: 0 },
      ]);
      const service = await start(url, { NODE_ENV: 'production' });
      expect((await fetch(`${service.server.base_url}/health/ready`)).status).toBe(200);
      await service.stop();
    },
  );

  it('SANDBOX=true turns an empty database into a sandbox, and a process without SANDBOX=true refuses it and any copy of it', async () => {
    const url = await database({ migrated: false });
    const sandbox = await start(url, { SANDBOX: 'true' });
    const token = await sandbox.token(sandbox.sandbox.operator);
    const moved = await sandbox.call(token, 'POST', '/sandbox/clock', { advance_s: 30 * 86_400 });
    expect(moved.status).toBe(200);
    const others: Record<string, string>[] = [{ NODE_ENV: 'production' }, { SANDBOX: 'false' }];
    // A process that is not a sandbox must refuse the database of a sandbox, even after the sandbox has stopped.
    for (const env of others) expect(await run([], { DATABASE_URL: url, ...env })).toEqual([1, NO_SANDBOX]);
    await sandbox.stop();
    for (const env of others)
      for (const program of [[], ['admin', 'verify-audit']])
        expect(await run(program, { DATABASE_URL: url, ...env })).toEqual([1, NO_SANDBOX]);
    // The copy resembles a restored dump: it contains the schema of the clock, but not the settings of the database
    // roles.
    const copy = url.replace(/[^/]+$/, `copy_${randomBytes(6).toString('hex')}`);
    const [source, name] = [url, copy].map((one) => one.split('/').at(-1)!);
    const server = url.replace(/[^/]+$/, 'postgres');
    await sql(server, `CREATE DATABASE ${name} TEMPLATE ${source}`);
    drops.push(() => sql(server, `DROP DATABASE ${name} WITH (FORCE)`).then(() => undefined));
    expect(await run([], { DATABASE_URL: copy, NODE_ENV: 'production' })).toEqual([1, NO_SANDBOX]);
    const again = await start(copy, { SANDBOX: 'true' });
    const now = await again.call(await again.token(again.sandbox.operator), 'GET', '/sandbox/clock');
    expect(Date.parse(now.body.now as string) - Date.now()).toBeGreaterThan(29 * 86_400_000);
    await again.stop();
  });

  it('the command line can create the first operator of an empty database before the service creates the sandbox’s other data', async () => {
    const url = await database({ migrated: false });
    const env = { DATABASE_URL: url, SANDBOX: 'true' };
    const made = await run(['admin', 'create-operator', '--username', 'olga'], env, 'seven grey herons wait\n');
    expect(made[0]).toBe(0);
    expect(await marksIn(url)).toHaveLength(1);
    const service = await start(url, { SANDBOX: 'true' });
    await service.stop();
  });
});
