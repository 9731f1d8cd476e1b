import { migrate } from '../../src/platform/database/migrate';
import { startApp, type TestApp } from '../support/app';
import { Authority } from '../support/certificates';
import { eventually } from '../support/eventually';
import { PostgresServer } from '../support/servers';

/** Tests section 1 of the contract over TLS: requests are refused quickly while the database server is silent. */
let server: PostgresServer;
let app: TestApp;
let scene: Awaited<ReturnType<TestApp['given']['scene']>>;

beforeAll(async () => {
  const { certPem, keyPem } = await (await Authority.create()).issue('localhost');
  server = await PostgresServer.start(
    { ssl: 'on', ssl_cert_file: 'tls.crt', ssl_key_file: 'tls.key' },
    { 'tls.crt': certPem, 'tls.key': keyPem },
  );
  await server.query('CREATE DATABASE svc');
  const url = `${server.url('svc')}?sslmode=require`;
  await migrate(url);
  app = await startApp({ databaseUrl: url });
  scene = await app.given.scene();
});
afterAll(async () => {
  server?.freeze(false);
  await app?.close();
  await server?.end();
});

async function timed(): Promise<{ status: number; ms: number }> {
  const begun = performance.now();
  const { status } = await app.call('GET', `/accounts/${scene.account}/eligibilities`, { token: scene.token });
  return { status, ms: performance.now() - begun };
}

it('ends running requests before their statement timeout while the database server is silent over TLS, refuses new ones immediately, and recovers', async () => {
  const rows = await app.given.sql(
    'SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE datname IS NOT NULL',
  );
  expect(rows).toContainEqual({ ssl: true });
  expect((await timed()).status).toBe(200);
  server.freeze(true);
  const first = await Promise.all(Array.from({ length: 10 }, timed));
  // The service must answer the requests before its statement timeout of 7 seconds.
  expect(first.filter(({ status, ms }) => status !== 503 || ms > 7_000)).toEqual([]);
  const refusedAtOnce = async (): Promise<void> => {
    const { status, ms } = await timed();
    expect([status, ms < 3_000]).toEqual([503, true]);
  };
  // The first requests may have been refused only because they waited too long for a database connection. The test
  // therefore waits until the service has detected that the server is silent.
  await eventually(refusedAtOnce);
  await refusedAtOnce();
  server.freeze(false);
  await eventually(async () => expect((await timed()).status).toBe(200), 20_000);
});
