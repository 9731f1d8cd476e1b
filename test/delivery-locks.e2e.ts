import { startApp, type TestApp } from './support/app';
import { eventually } from './support/eventually';
import { Subscribed } from './support/subscribed';

let app: TestApp;
let [locked, healthy]: Subscribed[] = [];

beforeEach(async () => {
  app = await startApp();
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
])('a lock held on a %s of one partner keeps no outcome of another from being recorded', async (_what, rows) => {
  // Both answers come in one moment: their outcomes are recorded together.
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
  // While it is held, the other goes on.
  healthy.partner.answer({ status: 200 });
  await healthy.booking();
  await eventually(async () => expect(await states(healthy)).toContain('DELIVERED'), 15_000);
  await release();
  await eventually(async () => expect(await states(locked)).toEqual(['ERROR_QUEUE']), 15_000);
  expect(locked.partner.requests).toHaveLength(1);
  expect(healthy.partner.requests).toHaveLength(3);
});
