import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { Subscribed } from '../support/subscribed';

let app: TestApp;
let subscribed: Subscribed;

beforeAll(async () => {
  app = await startApp({ env: { RETRY_SCHEDULE_S: '600', NOTIFICATION_WAIT_MS: '1000' } });
});
beforeEach(async () => {
  subscribed = await Subscribed.start(app);
});
afterEach(() => subscribed.stop());
afterAll(() => app.close());

const delivered = (withinMs?: number) =>
  eventually(async () => (await subscribed.notifications('&state=DELIVERED')).length === 1, withinMs);

/** The amounts of time by which the database's clock was ahead. Each test runs once with each amount. */
const DISTANCES = ['25 hours', '1 hour'];

test.each(DISTANCES)(
  'after a clock correction, the service probes a partner that turned DOWN while the clock was %s ahead',
  async (ahead) => {
    subscribed.partner.answer({ status: 500 });
    await subscribed.booking();
    await eventually(async () => (await subscribed.subscription())['health'] === 'DOWN');
    subscribed.partner.answer({ status: 200 });
    await app.given.sql(
      `UPDATE subscriptions SET next_probe_at = next_probe_at + $2::interval, probe_from = probe_from + $2::interval
     WHERE id = $1`,
      [subscribed.id, ahead],
    );
    await delivered();
    expect(await subscribed.subscription()).toMatchObject({ health: 'UP', next_probe_at: null });
  },
);

test.each(DISTANCES)(
  'after a clock correction, the service ignores a busy partner’s pause that began while the clock was %s ahead',
  async (ahead) => {
    subscribed.partner.answer({ status: 429, headers: { 'retry-after': '3' } });
    await subscribed.booking();
    await eventually(async () => (await subscribed.subscription())['paused_until'] !== null);
    subscribed.partner.answer({ status: 200 });
    await app.given.sql(
      `UPDATE subscriptions SET paused_until = paused_until + $2::interval, paused_from = paused_from + $2::interval,
       paced_to = now() + $2::interval WHERE id = $1`,
      [subscribed.id, ahead],
    );
    expect((await subscribed.subscription())['paused_until']).toBeNull();
    await delivered();
  },
);

test('a lease that was granted while the clock was an hour ahead expires 30 seconds after the end of the wait time', async () => {
  await subscribed.post('suspend');
  await subscribed.booking();
  await eventually(async () => (await subscribed.notifications()).length === 1);
  // The test gives the notification a lease like the one that a process leaves behind when it is killed.
  await app.given.sql(
    `UPDATE deliveries SET lease_token = 1, leased_until = now() + interval '1 hour' WHERE subscription_id = $1`,
    [subscribed.id],
  );
  await subscribed.post('resume');
  await app.given.sql(`SELECT pg_notify('deliveries', 'due ' || $1)`, [subscribed.id]);
  const later = await startApp({ databaseUrl: app.databaseUrl });
  try {
    await delivered(31_000);
  } finally {
    await later.close();
  }
}, 40_000);

test.each(DISTANCES)(
  'after a clock correction, the service publishes an event that was claimed while the clock was %s ahead',
  async (ahead) => {
    const code = await subscribed.booking();
    await delivered();
    await app.given.sql(`DELETE FROM notifications WHERE subscription_id = $1`, [subscribed.id]);
    await app.given.sql(
      `UPDATE domain_events SET settled_at = NULL, claimed_until = now() + $2::interval WHERE stream = $1`,
      [code, ahead],
    );
    await delivered();
  },
);
