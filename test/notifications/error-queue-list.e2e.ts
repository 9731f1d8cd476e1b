import { nextPath } from '../support/answers';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { Subscribed } from '../support/subscribed';

let app: TestApp;
let subscribed: Subscribed;

beforeAll(async () => {
  app = await startApp({ env: { RETRY_SCHEDULE_S: '60' } });
  subscribed = await Subscribed.start(app, { name: 'The board' });
  let count = 0;
  // The partner answers 400, 403, 400 and 500. After the 500 the partner is DOWN, so the fifth notification is not
  // attempted.
  subscribed.partner.answer(() => ({ status: [400, 403, 400, 500][count++] ?? 200 }));
  for (let i = 0; i < 5; i++) {
    await subscribed.booking();
    await eventually(async () => expect(await subscribed.queue()).toHaveLength(i + 1));
  }
});
afterAll(async () => {
  await subscribed.stop();
  await app.close();
});

test('the summary of the error queue lists the causes of failures, most frequent first', async () => {
  const rows = await subscribed.queue();
  const { body } = await subscribed.admin('GET', 'error-queue/summary');
  const cause = (failure: string | null, http_status: number | null, retry: string, count: number) => ({
    subscription_id: subscribed.id,
    account_code: subscribed.scene.account,
    subscription_name: 'The board',
    partner_url: subscribed.partner.url,
    failure,
    reason: http_status === 400 ? 'NO_MATCHING_RECORD' : null,
    http_status,
    retry,
    count,
    oldest: expect.any(String),
    newest: expect.any(String),
    next_booking_on: expect.any(String),
    next_location_timezone: 'America/Chicago',
  });
  expect(body[0]).toEqual({
    ...cause('client_error', 400, 'MANUAL', 2),
    oldest: rows[0]['created_datetime'],
    newest: rows[2]['created_datetime'],
  });
  expect(body).toHaveLength(4);
  expect(body).toEqual(
    expect.arrayContaining([
      cause('auth', 403, 'MANUAL', 1),
      cause('server_error', 500, 'AUTO', 1),
      cause(null, null, 'AUTO', 1),
    ]),
  );
});

test('a notification names its partner, its candidate, and the start and the time zone of its exam', async () => {
  const scene = await app.given.scene();
  const board = await Subscribed.start(app, { name: 'The board' }, { scene });
  try {
    const eligibility = await app.given.eligibility(scene);
    const { candidate_id, first_name, last_name } = eligibility['candidate'] as Record<string, string>;
    const { booking_code, booking_on } = await app.given.booking(scene, eligibility);
    const later = new Date(Date.parse(booking_on as string) + 3600_000).toISOString().replace('.000Z', 'Z');
    await board.reschedule(booking_code as string);
    await eventually(async () => expect(await board.notifications('&state=DELIVERED')).toHaveLength(2));
    const named = {
      subscription_id: board.id,
      subscription_name: 'The board',
      partner_url: board.partner.url,
      candidate_id,
      candidate_name: `${first_name} ${last_name}`,
      location_timezone: 'America/Chicago',
    };
    const [made, moved] = await board.notifications();
    expect(made).toMatchObject({ ...named, booking_on, previous_booking_on: null, event_sequence: 1 });
    expect(moved).toMatchObject({ ...named, booking_on: later, previous_booking_on: booking_on, event_sequence: 2 });
    expect(await board.notification(moved['id'] as string)).toMatchObject(moved);
    await board.patch({ name: null });
    expect(await board.notifications()).toMatchObject([{ subscription_name: null }, { subscription_name: null }]);
  } finally {
    await board.stop();
  }
});

test.each([
  ['failure=client_error', 2],
  ['http_status=403', 1],
  ['retry=AUTO', 2],
  ['retry=MANUAL&failure=auth', 1],
  ['change_reason=BOOKING_CREATED', 5],
  ['change_reason=ABSENT', 0],
  ['failure=none', 1],
  ['reason=none', 3],
  ['reason=NO_MATCHING_RECORD', 2],
  ['reason=ECONNREFUSED', 0],
  ['from=2000-01-01T00:00:00Z&to=2000-01-02T00:00:00Z', 0],
  ['from=2000-01-01T00:00:00Z', 5],
])('the filter %s of the error queue finds %d notifications', async (query, found) => {
  expect(await subscribed.queue(`&${query}`)).toHaveLength(found);
});

test('the error queue can be filtered by account and booking', async () => {
  const [row] = await subscribed.queue();
  const byBooking = await subscribed.admin('GET', `error-queue?booking_code=${row['booking_code']}`);
  expect(byBooking.body).toEqual([row]);
  expect((await subscribed.admin('GET', `error-queue?account_code=${subscribed.scene.account}`)).body).toHaveLength(5);
});

test('the error queue is listed newest first, with a link to the next page', async () => {
  const all = (await subscribed.queue()).reverse();
  const found: unknown[] = [];
  let path: string | undefined = `/admin/error-queue?subscription_id=${subscribed.id}&limit=2`;
  while (path) {
    const page = await subscribed.get(path);
    found.push(...page.body);
    path = nextPath(page);
  }
  expect(found).toEqual(all);
});

test.each(['error-queue', 'notifications'])(
  'with order=oldest, GET %s lists the oldest notification first',
  async (list) => {
    const all = await subscribed.queue();
    const found: unknown[] = [];
    let path: string | undefined = `/admin/${list}?subscription_id=${subscribed.id}&limit=2&order=oldest`;
    while (path) {
      const page = await subscribed.get(path);
      found.push(...page.body);
      path = nextPath(page);
    }
    expect(found).toEqual(all);
  },
);

test.each([
  ['failure=bad', 'failure'],
  ['http_status=12', 'http_status'],
  ['retry=auto', 'retry'],
  ['order=oldest_first', 'order'],
  ['change_reason=X', 'change_reason'],
  ['subscription_id=x', 'subscription_id'],
  ['from=2024-02-30T00:00:00Z', 'from'],
  ['account_code=NOBODY', 'account_code'],
  ['limit=0', 'limit'],
])('GET /admin/error-queue refuses the invalid query %s with 400', async (query, parameter) => {
  const answer = await subscribed.admin('GET', `error-queue?${query}`);
  expect(answer.status).toBe(400);
  expect(answer.body.errors).toEqual([expect.objectContaining({ parameter })]);
});

test.each(['error-queue', 'notifications'])(
  'GET %s reports all invalid query parameters in one response',
  async (path) => {
    const answer = await subscribed.admin('GET', `${path}?failure=bad&retry=auto&limit=0&cursor=abc`);
    expect(answer.status).toBe(400);
    expect(answer.body.errors.map(({ parameter }: { parameter: string }) => parameter).sort()).toEqual([
      'cursor',
      'failure',
      'limit',
      'retry',
    ]);
  },
);

test("every route of the error queue refuses a client's token", async () => {
  for (const path of ['error-queue', 'error-queue/summary', 'notifications', 'subscriptions'])
    expect((await app.call('GET', `/admin/${path}`, { token: subscribed.scene.token })).status).toBe(403);
});
