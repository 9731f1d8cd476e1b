import { DeliveryInvariant } from '../../src/notifications/delivery/delivery-invariant';
import { Metrics } from '../../src/platform/observability/metrics';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { Subscribed } from '../support/subscribed';

let app: TestApp;
let [locked, healthy]: Subscribed[] = [];

beforeEach(async () => {
  // The first automatic retry is due after a minute, so that no retry changes the numbers of requests that the test
  // counts.
  app = await startApp({ env: { RETRY_SCHEDULE_S: '60' } });
  [locked, healthy] = [await Subscribed.start(app), await Subscribed.start(app)];
});
afterEach(async () => {
  await Promise.all([locked.stop(), healthy.stop()]);
  await app.close();
});

const states = async (of: Subscribed) => (await of.notifications()).map(({ state }) => state);

test.each([
  ['notification', `SELECT FROM notifications WHERE subscription_id = `],
  ['subscription', `SELECT FROM subscriptions WHERE id = `],
])(
  'records the delivery outcomes for one partner while another connection locks a row (%s) of a second partner',
  async (_what, rows) => {
    // The responses of both partners arrive at the same moment, so that the outcomes are recorded together.
    let answer = (): void => undefined;
    const held = new Promise<void>((resolve) => (answer = resolve));
    locked.partner.answer(() => held.then(() => ({ status: 500 })));
    healthy.partner.answer(() => held.then(() => ({ status: 400 })));
    await Promise.all([locked.booking(), healthy.booking(), healthy.booking()]);
    await Promise.all([locked.partner.received(1), healthy.partner.received(2)]);
    const release = await app.given.lock(`${rows} '${locked.id}' FOR UPDATE`);
    answer();
    await eventually(async () => expect(await states(healthy)).toEqual(['ERROR_QUEUE', 'ERROR_QUEUE']), 15_000);
    expect(await states(locked)).toEqual(['PENDING']);
    // The healthy partner must receive further notifications while another connection locks a row of the other partner.
    healthy.partner.answer({ status: 200 });
    await healthy.booking();
    await eventually(async () => expect(await states(healthy)).toContain('DELIVERED'), 15_000);
    await release();
    await eventually(async () => expect(await states(locked)).toEqual(['ERROR_QUEUE']), 15_000);
    expect(locked.partner.requests).toHaveLength(1);
    expect(healthy.partner.requests).toHaveLength(3);
  },
);

test("the metrics report that one partner's notifications are overdue, while /health/ready stays green", async () => {
  expect((await locked.post('suspend')).status).toBe(200);
  await locked.booking();
  await eventually(async () => expect(await states(locked)).toEqual(['PENDING']));
  await app.given.sql(`UPDATE deliveries SET due_datetime = now() - interval '5 minutes' WHERE subscription_id = $1`, [
    locked.id,
  ]);
  const release = await app.given.lock(`SELECT FROM deliveries WHERE subscription_id = '${locked.id}' FOR UPDATE`);
  await app.given.sql(
    `UPDATE subscriptions SET state = 'ACTIVE', updated_datetime = now() - interval '5 minutes' WHERE id = $1`,
    [locked.id],
  );
  await app.app.get(DeliveryInvariant).check();
  expect(await app.app.get(Metrics).registry.metrics()).toMatch(/^notifications_overdue_partners 1$/m);
  expect((await app.call('GET', '/health/ready')).body).toMatchObject({ status: 'ok', parts: { deliveries: 'ok' } });
  await release();
  await locked.partner.received(1);
});
