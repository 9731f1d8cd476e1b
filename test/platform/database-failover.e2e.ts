import { ConfigError } from '../../src/platform/environment-reader';
import { migrate } from '../../src/platform/database/migrate';
import { Metrics } from '../../src/platform/observability/metrics';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { PostgresServer } from '../support/servers';
import { Subscribed } from '../support/subscribed';

/**
 * Tests section 13 of the contract with a primary and two standbys, which follow the primary by streaming replication.
 * Each test continues with the servers of the previous one.
 */
let primary: PostgresServer;
let one: PostgresServer;
let two: PostgresServer;
let app: TestApp;
let subscribed: Subscribed;
const acknowledged: string[] = [];

const figure = async (name: string) =>
  Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(await app.app.get(Metrics).registry.metrics())?.[1]);
const told = () => subscribed.partner.requests.map(({ json }) => json.booking_code as string);
const ready = async () => (await app.call('GET', '/health/ready')).status;

async function create(): Promise<number> {
  const { scene } = subscribed;
  const answer = await app.call('POST', `/accounts/${scene.account}/candidates`, {
    token: scene.token,
    body: app.given.eligibilityBody(scene.testCode),
  });
  if (answer.status === 200) acknowledged.push(answer.body.svc_eligiblity_id);
  return answer.status;
}

async function assertNothingIsLost(): Promise<void> {
  const rows = await app.given.sql('SELECT svc_eligiblity_id AS id FROM eligibilities');
  expect(new Set(rows.map((row) => row['id'] as string))).toEqual(
    new Set([...rows.map((row) => row['id'] as string), ...acknowledged]),
  );
}

beforeAll(async () => {
  primary = await PostgresServer.start();
  await primary.query('CREATE DATABASE svc');
  await migrate(primary.url('svc'));
  one = await primary.standby('one');
  two = await primary.standby('two');
  const hosts = [one, two, primary].map((server) => server.address).join(',');
  app = await startApp({
    databaseUrl: `postgres://postgres:${primary.secret}@${hosts}/svc?target_session_attrs=read-write`,
    env: { CONFIRM_REPLICATED: '1' },
  });
  subscribed = await Subscribed.start(app);
});
afterAll(async () => {
  await app?.close();
  for (const server of [two, one, primary]) await server?.end();
});

it('the service connects to the writable one of several servers, and does not start if it reaches only a standby', async () => {
  expect(await create()).toBe(200);
  const refused = await migrate(one.url('svc')).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(ConfigError);
  expect((refused as ConfigError).faults).toEqual([expect.stringMatching(/^DATABASE_URL .* read-only \(a standby\)/)]);
});

it('notifies the partner of an event only after a standby has stored the event, and stays ready meanwhile', async () => {
  const first = await subscribed.booking();
  await eventually(() => expect(told()).toEqual([first]));
  one.freeze(true);
  two.freeze(true);
  const second = await subscribed.booking();
  const third = await subscribed.booking();
  await eventually(async () => expect(await figure('notifications_held_for_replication')).toBe(1));
  expect(told()).toEqual([first]);
  expect(await ready()).toBe(200);
  expect(await figure('replication_standbys_wanted')).toBe(1);
  one.freeze(false);
  two.freeze(false);
  await eventually(() => expect(told().sort()).toEqual([first, second, third].sort()), 20_000);
  await eventually(async () => expect(await figure('notifications_held_for_replication')).toBe(0));
  expect(await figure('replication_standbys_attached')).toBe(2);
});

it('loses no acknowledged change when a synchronous primary is killed, and answers again after a standby is promoted', async () => {
  await primary.query(`ALTER SYSTEM SET synchronous_standby_names = 'one'`);
  await primary.query('SELECT pg_reload_conf()');
  await eventually(async () => {
    const rows = await primary.query(`SELECT sync_state FROM pg_stat_replication WHERE application_name = 'one'`);
    expect(rows).toEqual([{ sync_state: 'sync' }]);
  });
  const traffic = Array.from({ length: 4 }, async () => {
    while ((await create()) === 200);
  });
  await eventually(() => acknowledged.length >= 20, 20_000);
  primary.kill();
  await Promise.all(traffic);
  expect(await create()).toBe(503);
  await one.promote();
  const promoted = performance.now();
  await eventually(async () => expect(await create()).toBe(200));
  const ms = Math.round(performance.now() - promoted);
  await assertNothingIsLost();
  // The durations of the failover are printed only on request, because they are not reliable on a busy machine.
  if (process.env['TEST_FIGURES']) process.stdout.write(`callers are answered ${ms} ms after the promotion\n`);
});

it('holds events back while the new primary has no standby, and sends them once a standby follows', async () => {
  const before = told().length;
  const booking = await subscribed.booking();
  await eventually(async () => expect(await figure('notifications_held_for_replication')).toBe(1));
  expect(told()).toHaveLength(before);
  await two.follow(one);
  await eventually(() => expect(told().at(-1)).toBe(booking), 20_000);
});

it('continues with the promoted standby, without a restart, when the primary becomes silent', async () => {
  await eventually(async () => {
    const [{ behind }] = await one.query(
      'SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), replay_lsn) AS behind FROM pg_stat_replication',
    );
    expect(Number(behind)).toBe(0);
  });
  one.freeze(true);
  await two.promote();
  const promoted = performance.now();
  await eventually(async () => expect(await create()).toBe(200), 20_000);
  const ms = Math.round(performance.now() - promoted);
  await assertNothingIsLost();
  await eventually(async () => expect(await ready()).toBe(200));
  if (process.env['TEST_FIGURES']) process.stdout.write(`callers are answered ${ms} ms after the promotion, silent\n`);
});
