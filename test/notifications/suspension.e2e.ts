import { setTimeout as pause } from 'node:timers/promises';
import { startPair, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { holdAny, holdAt } from '../support/races';
import { Subscribed } from '../support/subscribed';

let first: TestApp;
let second: TestApp;
let subscribed: Subscribed;

beforeAll(async () => {
  ({ api: first, delivery: second } = await startPair({ RETRY_SCHEDULE_S: '0.3' }));
});
beforeEach(async () => {
  subscribed = await Subscribed.start(first);
});
afterEach(() => subscribed.stop());
afterAll(async () => {
  await second.close();
  await first.close();
});

test('after the response to POST suspend, no process starts an attempt, and claimed notifications are released', async () => {
  await subscribed.booking();
  await subscribed.partner.received(1);
  // Waits until the delivery loops have searched for further notifications and found none, so that no claim is running.
  await pause(1500);
  const hold = holdAt(second, 'claimed');
  await subscribed.booking();
  await hold.reached;
  expect(await first.given.sql('SELECT FROM deliveries WHERE lease_token IS NOT NULL')).toHaveLength(1);
  let answered = false;
  const suspended = subscribed.post('suspend').then((answer) => {
    answered = true;
    return answer;
  });
  await pause(700);
  const answeredAtOnce = answered;
  hold.release();
  expect(answeredAtOnce).toBe(false);
  expect((await suspended).body).toMatchObject({ state: 'SUSPENDED' });
  await pause(1500);
  expect(subscribed.partner.requests).toHaveLength(1);
  expect(await first.given.sql('SELECT FROM deliveries WHERE lease_token IS NOT NULL')).toEqual([]);
  await subscribed.post('resume');
  await subscribed.partner.received(2);
});

test('a probe stopped by a suspension is sent soon after POST resume', async () => {
  subscribed.partner.answer({ status: 500 });
  await subscribed.booking();
  await eventually(async () => expect((await subscribed.queue()).map((row) => row['retry'])).toEqual(['AUTO']));
  const hold = holdAny([first, second], 'probe claimed');
  await hold.reached;
  const suspended = subscribed.post('suspend');
  await eventually(async () => expect((await subscribed.subscription())['state']).toBe('SUSPENDED'));
  hold.release();
  expect((await suspended).status).toBe(200);
  subscribed.partner.answer({ status: 200 });
  await subscribed.post('resume');
  await eventually(async () => expect((await subscribed.notifications())[0]['state']).toBe('DELIVERED'));
});

test('POST suspend lets running attempts finish, and does not wait for them', async () => {
  subscribed.partner.answer({ status: 200, delayMs: 4000 });
  await subscribed.booking();
  await subscribed.partner.received(1);
  const before = performance.now();
  await subscribed.post('suspend');
  expect(performance.now() - before).toBeLessThan(3500);
  await eventually(async () => expect((await subscribed.notifications())[0]['state']).toBe('DELIVERED'));
});

test('sends no further notification to a partner under load after the response to POST suspend', async () => {
  subscribed.partner.answer({ status: 200, delayMs: 100 });
  const bookings = Array.from({ length: 30 }, () => subscribed.booking());
  await subscribed.partner.received(5);
  await subscribed.post('suspend');
  const answeredAt = Date.now();
  await Promise.all(bookings);
  await pause(1500);
  // An attempt that was already being sent may still arrive after the suspension.
  expect(subscribed.partner.requests.filter(({ at }) => at > answeredAt + 200)).toHaveLength(0);
  await subscribed.post('resume');
  await subscribed.partner.received(30, 20_000);
});

test('the time of a suspension does not count towards RETRY_GIVE_UP_H', async () => {
  subscribed.partner.answer({ status: 500 });
  await subscribed.booking();
  await eventually(async () => expect((await subscribed.queue()).map((row) => row['retry'])).toEqual(['AUTO']));
  await subscribed.post('suspend');
  const { id } = subscribed;
  await first.given.sql(
    `UPDATE notifications SET queued_datetime = now() - interval '40 hours' WHERE subscription_id = $1`,
    [id],
  );
  await first.given.sql(
    `UPDATE subscriptions SET suspended_datetime = now() - interval '10 hours',
       suspensions = tstzmultirange(tstzrange(now() - interval '50 hours', now() - interval '30 hours')) WHERE id = $1`,
    [id],
  );
  await subscribed.post('resume');
  await pause(2500);
  expect((await subscribed.queue()).map((row) => row['retry'])).toEqual(['AUTO']);
  // The service stops retrying a notification after 24 hours. Hours during which the partner was suspended do not
  // count: 20 of the 40 hours counted so far, and 25 of the 55 hours count now.
  await first.given.sql(
    `UPDATE notifications SET queued_datetime = now() - interval '55 hours' WHERE subscription_id = $1`,
    [id],
  );
  await eventually(async () => expect((await subscribed.queue()).map((row) => row['retry'])).toEqual(['MANUAL']));
});
