import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { Subscribed } from '../support/subscribed';

let app: TestApp;
let subscribed: Subscribed;

beforeAll(async () => {
  app = await startApp({ env: { RETRY_SCHEDULE_S: '0.3' } });
});
beforeEach(async () => {
  subscribed = await Subscribed.start(app);
});
afterEach(() => subscribed.stop());
afterAll(() => app.close());

const delivered = (count: number) =>
  eventually(async () => (await subscribed.notifications('&state=DELIVERED')).length === count, 20_000);

test('a partner that always returns 500 for one event still receives all other events', async () => {
  let bad: string | null = null;
  subscribed.partner.answer(({ json }) => ({ status: (bad ??= json.booking_code) === json.booking_code ? 500 : 200 }));
  const first = await subscribed.booking();
  await eventually(async () => expect(await subscribed.subscription()).toMatchObject({ health: 'DOWN' }));
  for (let made = 0; made < 20; made++) await subscribed.booking();
  await delivered(20);
  await eventually(async () =>
    expect(await subscribed.queue()).toMatchObject([
      { booking_code: first, retry: 'MANUAL', failure: 'server_error', http_status: 500 },
    ]),
  );
  expect((await subscribed.subscription())['health']).toBe('UP');
  const [{ id }] = await subscribed.queue();
  const { attempts } = await subscribed.notification(id);
  expect(attempts).toHaveLength(4);
  expect(attempts.at(-1)).toMatchObject({ http_status: 500, failure: 'server_error', reason: 'ONLY_THIS_EVENT' });
  // An operator resends the event after the partner has fixed the cause.
  subscribed.partner.answer({ status: 200 });
  await subscribed.admin('POST', `error-queue/${id}/resend`);
  await delivered(21);
}, 40_000);

test('a partner that returns 500 for all events becomes DOWN, and no event needs a manual retry', async () => {
  subscribed.partner.answer({ status: 500 });
  for (let made = 0; made < 3; made++) await subscribed.booking();
  // Each of the three events is attempted three times, and the partner answers 500 each time. After that, the oldest
  // event is attempted again.
  await subscribed.partner.received(11, 20_000);
  const seen = subscribed.partner.requests.map(({ json }) => json.booking_code);
  expect(new Set(seen).size).toBe(3);
  subscribed.partner.answer({ status: 200 });
  await delivered(3);
  expect(await subscribed.queue()).toEqual([]);
  const [{ failures }] = await app.given.sql(
    'SELECT count(*)::int AS failures FROM deliveries WHERE subscription_id = $1',
    [subscribed.id],
  );
  expect(failures).toBe(0);
}, 40_000);
