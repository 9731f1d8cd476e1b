import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { migrate } from '../../src/platform/database/migrate';
import { startEmbeddedPostgres, type EmbeddedPostgres } from '../../src/platform/embedded-postgres/embedded-postgres';
import { installClock } from '../../src/sandbox/clock-schema';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { Subscribed } from '../support/subscribed';

/**
 * Tests section 13 of the contract: a change never fails because the service cannot send a NOTIFY to other processes.
 * All databases of a PostgreSQL server share one NOTIFY queue, so a connection to any database can fill the queue.
 */
const FULL = '54000';
const env = { SANDBOX: 'true', SECRETS_KEY: randomBytes(32).toString('base64') };

let dataDir: string;
let server: EmbeddedPostgres;
let app: TestApp;
let api: TestApp;
let stranger: pg.Client;
let subscribed: Subscribed;

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'notify-queue-'));
  chmodSync(dataDir, 0o755);
  server = await startEmbeddedPostgres({ dataDir, database: 'queue', settings: { max_notify_queue_pages: '64' } });
  await migrate(server.url);
  await installClock(server.url);
  app = await startApp({ databaseUrl: server.url, env });
  api = await startApp({ databaseUrl: server.url, env: { ...env, ROLES: 'api' } });
  subscribed = await Subscribed.start(app);
  stranger = new pg.Client({ connectionString: server.url.replace(/[^/]+$/, 'postgres') });
  await stranger.connect();
  await stranger.query('LISTEN something');
  // A connection that listens reads no NOTIFY messages while it is in a transaction. PostgreSQL therefore keeps all
  // messages, and its queue becomes full.
  await stranger.query('BEGIN');
  await stranger.query('SELECT 1');
  await fill();
}, 60_000);
afterAll(async () => {
  await stranger.end();
  await subscribed.stop();
  await api.close();
  await app.close();
  await server.stop();
  rmSync(realpathSync(join(dataDir, 'postgres')), { recursive: true, force: true });
  rmSync(dataDir, { recursive: true, force: true });
});

async function fill(): Promise<void> {
  const other = new pg.Client({ connectionString: server.url.replace(/[^/]+$/, 'postgres') });
  await other.connect();
  try {
    for (const payload of ['x'.repeat(7_900), '']) {
      let code: unknown = null;
      for (let n = 0; n < 2_000 && code === null; n++)
        await other.query(`SELECT pg_notify('something', $1)`, [payload + n]).catch((error: unknown) => {
          ({ code } = error as { code: unknown });
        });
      expect(code).toBe(FULL);
    }
  } finally {
    await other.end();
  }
}

describe('while the NOTIFY queue of the server is full', () => {
  it('PostgreSQL refuses a NOTIFY while its NOTIFY queue is full', async () => {
    await expect(app.given.sql(`SELECT pg_notify('deliveries', 'due x')`)).rejects.toMatchObject({ code: FULL });
  });

  it('while the NOTIFY queue is full, the partner is notified of a booking made in a process without the delivery role', async () => {
    const { scene } = subscribed;
    const record = await api.given.eligibility(scene);
    await api.given.booking(scene, record);
    await eventually(() => subscribed.partner.requests.length === 1);
  });

  it.each(['api', 'app'] as const)(
    'a subscription can be changed in the %s process while the NOTIFY queue is full',
    async (name) => {
      const { operator: token, id, partner, scene } = subscribed;
      const through = { api, app }[name];
      const admin = (method: string, path: string, body?: unknown) =>
        through.call(method, `/admin/subscriptions${path}`, { token, body });
      expect((await admin('POST', `/${id}/suspend`)).status).toBe(200);
      expect((await admin('POST', `/${id}/resume`)).status).toBe(200);
      expect((await admin('POST', `/${id}/rotate-secret`)).status).toBe(200);
      expect((await admin('PATCH', `/${id}`, { wait_ms: 5_000 })).status).toBe(200);
      expect((await admin('POST', `/${id}/verify`)).status).toBe(200);
      const body = { account_code: scene.account, partner_url: `${partner.url}/other`, ca_pem: partner.caPem };
      const other = await admin('POST', '', body);
      expect(other.status).toBe(201);
      expect((await admin('DELETE', `/${other.body.id}`)).status).toBe(204);
    },
  );

  it('while the NOTIFY queue is full, an operator can resend an event, both singly and with a bulk job', async () => {
    subscribed.partner.answer({ status: 404 });
    const codes = [await subscribed.booking(), await subscribed.booking()];
    const queued = await eventually(async () => {
      const rows = await subscribed.queue();
      expect(rows).toHaveLength(2);
      return rows;
    });
    subscribed.partner.answer({ status: 200 });
    const { operator: token } = subscribed;
    const alone = await api.call('POST', `/admin/error-queue/${queued[0]['id']}/resend`, { token });
    expect(alone.status).toBe(202);
    const filter = { subscription_id: subscribed.id };
    const job = await api.call('POST', '/admin/error-queue/resend', { token, body: { filter, reason: 'full' } });
    expect(job.status).toBe(202);
    await eventually(async () => expect(await subscribed.queue()).toEqual([]));
    expect(codes).toHaveLength(2);
  });

  it('the clock of the sandbox advances in each process while the NOTIFY queue is full', async () => {
    const token = subscribed.operator;
    const { body } = await api.call('POST', '/sandbox/clock', { token, body: { advance_s: 600 } });
    const moved = Date.parse(body.now as string);
    expect(moved - Date.now()).toBeGreaterThan(500_000);
    for (const each of [api, app])
      await eventually(async () => {
        const shown = await each.call('GET', '/sandbox/clock', { token });
        expect(Date.parse(shown.body.now as string)).toBeGreaterThanOrEqual(moved);
      });
  });
});
