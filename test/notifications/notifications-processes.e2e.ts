import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { Metrics } from '../../src/platform/observability/metrics';
import { NotificationRetention } from '../../src/notifications/delivery/notification-retention';
import type { Statement } from '../../src/platform/database/database';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { startPartner } from '../support/partner';
import { Subscribed } from '../support/subscribed';

const opened: { close(): Promise<void> }[] = [];
const SECRETS_KEY = Buffer.alloc(32, 7).toString('base64');

async function start(env: Record<string, string> = {}, databaseUrl?: string): Promise<TestApp> {
  const app = await startApp({ env: { SECRETS_KEY, ...env }, databaseUrl });
  // The application that created the database is closed last, because it drops the database.
  opened.unshift(app);
  return app;
}

async function close(app: TestApp): Promise<void> {
  opened.splice(opened.indexOf(app), 1);
  await app.app.close();
}

afterEach(async () => {
  for (const app of opened.splice(0)) await app.close();
});

test('a process without the `delivery` role sends no notifications, but wakes a process that has the role', async () => {
  const api = await start({ ROLES: 'api' });
  const subscribed = await Subscribed.start(api);
  await subscribed.booking();
  await pause(1500);
  expect(subscribed.partner.requests).toHaveLength(0);
  expect((await api.call('GET', '/health/ready')).body).toMatchObject({ status: 'ok' });
  expect((await subscribed.notifications()).map((row) => row['state'])).toEqual(['PENDING']);
  const delivery = await start({ ROLES: 'delivery' }, api.databaseUrl);
  await subscribed.partner.received(1);
  const ready = await delivery.call('GET', '/health/ready');
  expect(ready.body.parts).toMatchObject({ 'delivery loop': 'ok', deliveries: 'ok' });
  await subscribed.booking();
  await subscribed.partner.received(2);
  await subscribed.stop();
});

test('an event wakes the processes with the `delivery` role if the partner is active, not if the partner is suspended or DOWN', async () => {
  const app = await start({ ROLES: 'api' });
  const subscribed = await Subscribed.start(app);
  const listener = new pg.Client({ connectionString: app.databaseUrl });
  await listener.connect();
  opened.unshift({ close: () => listener.end() });
  const heard: (string | undefined)[] = [];
  listener.on('notification', ({ payload }) => heard.push(payload));
  await listener.query('LISTEN deliveries');
  const booking = async (state: string, health: string) => {
    await app.given.sql(
      `UPDATE subscriptions SET state = $1, health = $2, next_probe_at = CASE $2 WHEN 'DOWN' THEN now() END`,
      [state, health],
    );
    const code = await subscribed.booking();
    await eventually(async () =>
      expect((await subscribed.notifications()).map((row) => row['booking_code'])).toContain(code),
    );
  };
  await booking('SUSPENDED', 'UP');
  await booking('ACTIVE', 'DOWN');
  // PostgreSQL sends the messages of NOTIFY in commit order. If the earlier bookings caused messages, these messages
  // would therefore arrive before the message about the last booking.
  await booking('ACTIVE', 'UP');
  await eventually(() => expect(heard).not.toEqual([]));
  expect(heard).toEqual([`due ${subscribed.id}`]);
  await subscribed.stop();
});

test('/health/ready returns 503 while the database lacks a migration that the process expects', async () => {
  const app = await start({});
  const [{ name }] = (await app.given.sql(
    'DELETE FROM migrations WHERE id = (SELECT max(id) FROM migrations) RETURNING name',
  )) as [{ name: string }];
  const ready = await app.call('GET', '/health/ready');
  expect(ready.status).toBe(503);
  expect(ready.body).toMatchObject({ status: 'unavailable', parts: { database: 'ok', migrations: 'pending' } });
  await app.given.sql('INSERT INTO migrations (timestamp, name) VALUES (1, $1)', [name]);
  expect((await app.call('GET', '/health/ready')).status).toBe(200);
});

test('no process starts an attempt after one process has suspended the partner', async () => {
  const api = await start({ ROLES: 'api' });
  await start({ ROLES: 'delivery' }, api.databaseUrl);
  const subscribed = await Subscribed.start(api);
  await subscribed.booking();
  await subscribed.partner.received(1);
  await subscribed.post('suspend');
  await subscribed.booking();
  await pause(1500);
  expect(subscribed.partner.requests).toHaveLength(1);
  await subscribed.stop();
});

test('sends the claimed notifications of a killed process after their lease has expired, and not before', async () => {
  const app = await start();
  const subscribed = await Subscribed.start(app);
  await subscribed.post('suspend');
  await subscribed.booking();
  await eventually(async () => expect(await subscribed.notifications()).toHaveLength(1));
  await app.given.sql(
    `UPDATE deliveries SET lease_token = -1, leased_until = clock_timestamp() + interval '2 seconds'`,
  );
  await subscribed.post('resume');
  await pause(1200);
  expect(subscribed.partner.requests).toHaveLength(0);
  await subscribed.partner.received(1);
  await subscribed.stop();
});

test('never issues a lease token twice, even if sequences are reset by a failover to a lagging standby', async () => {
  const app = await start();
  const subscribed = await Subscribed.start(app);
  subscribed.partner.answer({ endless: 'silence' });
  const sequences = await app.given.sql(
    `SELECT format('%I.%I', schemaname, sequencename) AS name, coalesce(last_value, start_value) AS value, last_value IS NOT NULL AS called
     FROM pg_sequences`,
  );
  await subscribed.booking();
  const token = async () => (await app.given.sql('SELECT lease_token AS token FROM deliveries'))[0]['token'] as unknown;
  await subscribed.partner.received(1);
  const first = await token();
  expect(first).not.toBeNull();
  for (const { name, value, called } of sequences)
    await app.given.sql('SELECT setval($1, $2, $3)', [name, value, called]);
  await app.given.sql(`UPDATE deliveries SET leased_until = clock_timestamp() - interval '1 second'`);
  await subscribed.partner.received(2, 30_000);
  expect(await token()).not.toEqual(first);
  subscribed.partner.dropConnections();
  await subscribed.stop();
});

test('a delivery worker records nothing for a notification whose lease another worker has taken over', async () => {
  const app = await start();
  const subscribed = await Subscribed.start(app);
  subscribed.partner.answer({ status: 400, delayMs: 500 });
  await subscribed.booking();
  await subscribed.partner.received(1);
  await app.given.sql(`UPDATE deliveries SET lease_token = -1, leased_until = clock_timestamp() + interval '1 hour'`);
  await pause(1000);
  const [row] = await subscribed.notifications();
  expect(row).toMatchObject({ state: 'PENDING', failure: null });
  expect((await subscribed.notification(row['id']))['attempts']).toEqual([]);
  await subscribed.stop();
});

test('an event that is translated into notifications a second time creates no duplicate', async () => {
  const app = await start();
  const subscribed = await Subscribed.start(app);
  await subscribed.booking();
  await subscribed.partner.received(1);
  await app.given.sql(`UPDATE domain_events SET settled_at = NULL, claimed_until = now() - interval '1 second'`);
  await eventually(async () => {
    const [row] = await app.given.sql('SELECT count(*) AS n FROM domain_events WHERE settled_at IS NULL');
    expect(row['n']).toBe(0);
  });
  expect(await subscribed.notifications()).toHaveLength(1);
  await pause(300);
  expect(subscribed.partner.requests).toHaveLength(1);
  await subscribed.stop();
});

test('at shutdown, a process finishes and records running attempts, and releases all leases', async () => {
  const keeper = await start({ ROLES: 'api' });
  const delivery = await start({ ROLES: 'delivery' }, keeper.databaseUrl);
  const subscribed = await Subscribed.start(keeper);
  subscribed.partner.answer({ status: 200, delayMs: 600 });
  for (let i = 0; i < 20; i++) await subscribed.booking();
  await subscribed.partner.received(1);
  await close(delivery);
  const states = (await subscribed.notifications()).map((row) => row['state']);
  expect(states.filter((state) => state === 'DELIVERED')).toHaveLength(subscribed.partner.requests.length);
  const [leased] = await keeper.given.sql('SELECT count(*) AS n FROM deliveries WHERE lease_token IS NOT NULL');
  expect(leased['n']).toBe(0);
  await subscribed.stop();
});

test('at shutdown, a running attempt may use its full wait time even if SHUTDOWN_GRACE_MS is 0, and a 200 is recorded', async () => {
  const keeper = await start({ ROLES: 'api' });
  const delivery = await start({ ROLES: 'delivery', SHUTDOWN_GRACE_MS: '0' }, keeper.databaseUrl);
  const token = { clientId: 'ours', clientSecret: 'a long secret' };
  const issuer = await startPartner({ oauth: token });
  opened.unshift({ close: () => issuer.stop() });
  const auth = {
    type: 'oauth2_client_credentials',
    token_url: issuer.tokenUrl,
    client_id: token.clientId,
    client_secret: token.clientSecret,
  };
  const [slow, renewed] = [await Subscribed.start(keeper), await Subscribed.start(keeper)];
  expect((await renewed.patch({ auth })).status).toBe(200);
  slow.partner.answer({ delayMs: 3000 });
  renewed.partner.answer((_request, index) => ({ status: index === 0 ? 401 : 200, delayMs: 1500 }));
  for (const one of [slow, renewed]) await one.booking();
  for (const one of [slow, renewed]) await one.partner.received(1);
  await close(delivery);
  for (const one of [slow, renewed]) {
    expect(await one.notifications()).toMatchObject([{ state: 'DELIVERED' }]);
    await one.stop();
  }
  expect([slow.partner.requests.length, renewed.partner.requests.length]).toEqual([1, 2]);
});

test('a process that has shut down no longer tries to record an outcome', async () => {
  const keeper = await start({ ROLES: 'api' });
  const delivery = await start({ ROLES: 'delivery', SHUTDOWN_GRACE_MS: '500' }, keeper.databaseUrl);
  const subscribed = await Subscribed.start(keeper);
  const query = delivery.database.query.bind(delivery.database);
  let refused = 0;
  jest.spyOn(delivery.database, 'query').mockImplementation((statement: Statement, values?: unknown[]) => {
    if (statement.name !== 'delivery-record-delivered') return query(statement, values);
    refused += 1;
    return Promise.reject(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }));
  });
  await subscribed.booking();
  await subscribed.partner.received(1);
  await eventually(() => expect(refused).toBeGreaterThan(0));
  await close(delivery);
  const before = refused;
  await pause(1000);
  expect(refused).toBe(before);
  await subscribed.stop();
});

test('deletes delivered notifications with their attempts after the retention period, and keeps the error queue', async () => {
  const app = await start({ NOTIFICATION_RETENTION_DAYS: '30' });
  const subscribed = await Subscribed.start(app);
  await subscribed.booking();
  await subscribed.booking();
  await subscribed.partner.received(2);
  subscribed.partner.answer({ status: 400 });
  await subscribed.booking();
  await eventually(async () => {
    expect(await subscribed.queue()).toHaveLength(1);
    expect(await subscribed.notifications('&state=DELIVERED')).toHaveLength(2);
  });
  await app.given.sql(
    `UPDATE notifications SET created_datetime = now() - interval '31 days',
       delivered_datetime = CASE WHEN delivered_datetime IS NOT NULL THEN now() - interval '31 days' END
     WHERE position <> (SELECT min(position) FROM notifications)`,
  );
  expect(await app.app.get(NotificationRetention).run()).toBe(1);
  expect((await subscribed.notifications()).map((row) => row['state'])).toEqual(['DELIVERED', 'ERROR_QUEUE']);
  const [attempts] = await app.given.sql('SELECT count(*) AS n FROM notification_attempts');
  expect(attempts['n']).toBe(2);
  await subscribed.stop();
});

test('the metrics count delivery attempts by outcome', async () => {
  const app = await start();
  const subscribed = await Subscribed.start(app);
  await subscribed.booking();
  await subscribed.partner.received(1);
  await eventually(async () =>
    expect(await app.app.get(Metrics).registry.metrics()).toContain(
      'notification_attempts_total{outcome="delivered"} 1',
    ),
  );
  await subscribed.stop();
});
