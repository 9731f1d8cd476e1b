import { randomUUID } from 'node:crypto';
import { createServer, connect, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { DeliveryLoop } from '../../src/notifications/delivery/delivery-loop';
import { cloneDatabase } from '../support/database';
import { startApp, type Answer, type TestApp } from '../support/app';
import { Deliveries, registrationBody } from '../support/deliveries';
import { eventually } from '../support/eventually';

/**
 * Tests section 1 of the contract: while the database is unavailable, the service answers requests with 503
 * immediately. The service reconnects without a restart.
 */
let database: Awaited<ReturnType<typeof cloneDatabase>>;
let relay: Relay;
let app: TestApp;
let scene: Awaited<ReturnType<TestApp['given']['scene']>>;

/** A proxy between the service and PostgreSQL that a test can make silent. */
class Relay {
  private readonly sockets = new Set<Socket>();
  private isSilent = false;
  /**
   * The number of changes to the proxy: each beginning and end of a silence, and each call of `forget`. The proxy
   * forwards no bytes on connections that were opened before the latest change.
   */
  private generation = 0;

  private constructor(
    private readonly server: Server,
    readonly port: number,
  ) {}

  static async to(target: URL): Promise<Relay> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const relay = new Relay(server, (server.address() as { port: number }).port);
    server.on('connection', (near) => {
      const { generation } = relay;
      const far = connect(Number(target.port), target.hostname);
      for (const [from, to] of [
        [near, far],
        [far, near],
      ]) {
        relay.sockets.add(from);
        from.on('data', (bytes: Buffer) => {
          if (!relay.isSilent && generation === relay.generation) to.write(bytes);
        });
        from.on('error', () => undefined).on('close', () => to.destroy());
      }
    });
    return relay;
  }

  /** Makes the proxy silent, or ends the silence. A silent proxy accepts connections, but forwards nothing. */
  set silent(isSilent: boolean) {
    this.isSilent = isSilent;
    this.generation += 1;
  }

  /** Stops forwarding on the existing connections, like a firewall that has forgotten them. New connections work. */
  forget(): void {
    this.generation += 1;
  }

  cut(): void {
    for (const socket of this.sockets) socket.destroy();
    this.sockets.clear();
  }

  close(): void {
    this.cut();
    this.server.close();
  }
}

beforeAll(async () => {
  database = await cloneDatabase();
  const url = new URL(database.url);
  relay = await Relay.to(new URL(database.url));
  url.hostname = '127.0.0.1';
  url.port = String(relay.port);
  app = await startApp({ databaseUrl: url.href });
  scene = await app.given.scene();
});
afterAll(async () => {
  relay.silent = false;
  await app.close();
  relay.close();
  await database.drop();
});

/** The limit for an answer that waits neither for a connection nor for a statement, on a busy machine. */
const AT_ONCE_MS = 3_000;

const read = () => app.call('GET', `/accounts/${scene.account}/eligibilities`, { token: scene.token });
const create = () =>
  app.call('POST', `/accounts/${scene.account}/candidates`, {
    token: scene.token,
    body: app.given.eligibilityBody(scene.testCode),
  });
const ready = () => app.call('GET', '/health/ready');

async function timed(call: () => Promise<Answer>): Promise<{ answer: Answer; ms: number }> {
  const begun = performance.now();
  const answer = await call();
  return { answer, ms: performance.now() - begun };
}

it('ends running requests soon and refuses new ones immediately while the database server is silent, and recovers afterwards', async () => {
  expect((await read()).status).toBe(200);
  relay.silent = true;
  const first = await Promise.all(Array.from({ length: 30 }, () => timed(read)));
  for (const { answer, ms } of first) {
    expect([answer.status, answer.body.code]).toEqual([503, 'service_unavailable']);
    expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
    // The service answers the request before the SQL statement would time out (7 s).
    expect(ms).toBeLessThan(7_000);
  }
  for (const call of [read, create]) {
    const { answer, ms } = await timed(call);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
    expect(ms).toBeLessThan(AT_ONCE_MS);
  }
  const result = await timed(() => new Deliveries(app).register(scene.token, registrationBody()));
  expect([result.answer.status, result.answer.body.code]).toEqual([500, 'service_unavailable']);
  expect(result.ms).toBeLessThan(AT_ONCE_MS);
  const red = await timed(ready);
  expect([red.answer.status, red.answer.body.parts.database, red.ms < AT_ONCE_MS]).toEqual([503, 'down', true]);
  expect((await app.call('GET', '/health/live')).status).toBe(200);
  relay.silent = false;
  expect(await eventually(async () => (await create()).status === 200, 10_000)).toBe(true);
  expect((await read()).status).toBe(200);
});

it('receives NOTIFY from other processes again after the database server was silent or a firewall dropped the connection', async () => {
  const wake = jest.spyOn(app.app.get(DeliveryLoop), 'wake');
  const id = randomUUID();
  const signalled = () =>
    eventually(async () => {
      await app.given.sql(`SELECT pg_notify('deliveries', $1)`, [`due ${id}`]);
      expect(wake).toHaveBeenCalledWith([id]);
    }, 15_000);
  await signalled();
  relay.silent = true;
  expect((await read()).status).toBe(503);
  relay.silent = false;
  wake.mockClear();
  await signalled();
  relay.forget();
  await eventually(async () => (await create()).status === 200, 20_000);
  wake.mockClear();
  await signalled();
});

it('does not treat the database server as silent while a statement waits for a lock', async () => {
  await app.given.eligibility(scene);
  const [row] = await app.given.sql('SELECT svc_eligiblity_id AS id FROM eligibilities LIMIT 1');
  const { Client } = (await import('pg')).default;
  const holder = new Client({ connectionString: database.url });
  await holder.connect();
  try {
    await holder.query('BEGIN');
    await holder.query('LOCK TABLE eligibilities IN ACCESS EXCLUSIVE MODE');
    const waiting = timed(read);
    await pause(4_500);
    expect((await ready()).status).toBe(200);
    await holder.query('COMMIT');
    // Outside a unit of work, PostgreSQL aborts a statement that has waited for a lock for the short lock timeout.
    const { answer, ms } = await waiting;
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
    expect(ms).toBeLessThan(4_500);
    expect((await read()).status).toBe(200);
  } finally {
    await holder.end();
  }
  expect(row['id']).toEqual(expect.any(String));
});

it('opens new database connections when the old connections are cut', async () => {
  relay.cut();
  expect(await eventually(async () => (await read()).status === 200, 10_000)).toBe(true);
});

it('turns readiness red and answers writes with 503 while the database is read-only', async () => {
  const name = new URL(database.url).pathname.slice(1);
  await app.given.sql(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
  // The setting makes only new sessions read-only, and the open sessions can still write. The readiness check reads the
  // setting that applies to new sessions.
  expect((await ready()).body.parts.database).toBe('read-only');
  relay.cut();
  await eventually(async () => (await ready()).body.parts.database === 'read-only', 10_000);
  expect((await ready()).status).toBe(503);
  const refused = await create();
  expect([refused.status, refused.body.code]).toEqual([503, 'service_unavailable']);
  expect((await read()).status).toBe(200);
  const { Client } = (await import('pg')).default;
  const admin = new Client({ connectionString: database.url });
  await admin.connect();
  await admin.query('SET default_transaction_read_only = off');
  await admin.query(`ALTER DATABASE ${name} RESET default_transaction_read_only`);
  await admin.end();
  expect(await eventually(async () => (await ready()).status === 200, 15_000)).toBe(true);
  expect((await create()).status).toBe(200);
});
