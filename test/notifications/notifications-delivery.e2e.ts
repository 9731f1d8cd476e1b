import { Webhook } from 'standardwebhooks';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { Subscribed } from '../support/subscribed';

let app: TestApp;
let subscribed: Subscribed;

beforeAll(async () => {
  app = await startApp();
});
beforeEach(async () => {
  subscribed = await Subscribed.start(app);
});
afterEach(() => subscribed.stop());
afterAll(() => app.close());

test('sends a booking event to the partner as a PUT of a NotificationRequest', async () => {
  const eligibility = await app.given.eligibility(subscribed.scene, {
    client_eligibility_id: 'CE-1',
    candidate: { middle_name: 'King' },
  });
  const booking = await app.given.booking(subscribed.scene, eligibility);
  const [request] = await subscribed.partner.received(1);
  expect(request).toMatchObject({ method: 'PUT', path: '/notifications' });
  const effectiveDate = request.json.effective_date;
  expect(effectiveDate).toMatch(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/);
  expect(request.raw.toString()).toBe(
    JSON.stringify({
      booking_code: booking['booking_code'],
      booking_on: booking['booking_on'],
      candidate_fname: 'Ada',
      candidate_id: eligibility['candidate'].candidate_id,
      candidate_lname: 'Lovelace',
      candidate_mname: 'King',
      change_reason: 'BOOKING_CREATED',
      client_eligibility_id: 'CE-1',
      delivery_mode: 'SITE_PROCTORED',
      effective_date: effectiveDate,
      exam_code: `EX-${subscribed.scene.testCode}`,
      exam_portions: [{ portion_code: 'MAIN', portion_name: 'Main' }],
      location_address: '1 Main St, Springfield, IL',
      location_code: 'TC-042',
      location_name: 'Springfield Test Center',
      location_timezone: 'America/Chicago',
    }),
  );
});

test('a notification omits members that have no value, such as the location of a remote booking', async () => {
  await subscribed.booking({
    delivery_mode: 'SVC_REMOTE_PROCTORED',
    location_code: undefined,
    location_name: undefined,
    location_address: undefined,
    location_timezone: 'Europe/Paris',
  });
  const [request] = await subscribed.partner.received(1);
  expect(Object.keys(request.json)).toEqual([
    'booking_code',
    'booking_on',
    'candidate_fname',
    'candidate_id',
    'candidate_lname',
    'change_reason',
    'delivery_mode',
    'effective_date',
    'exam_code',
    'exam_portions',
    'location_timezone',
  ]);
});

test('sends the id, signature, sequence and trace of a notification in headers', async () => {
  const bookingCode = await subscribed.booking();
  await subscribed.reschedule(bookingCode);
  const requests = await subscribed.partner.received(2);
  const [first, second] = requests.map((request) => request.headers);
  expect(first).toMatchObject({ 'content-type': 'application/json', 'event-sequence': '1' });
  expect(second['event-sequence']).toBe('2');
  expect(first['traceparent']).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-0[01]$/);
  const webhook = new Webhook(subscribed.signingSecret);
  for (const request of requests) expect(webhook.verify(request.raw, request.headers)).toEqual(request.json);
  const [stored] = await subscribed.notifications();
  expect(stored).toMatchObject({ id: first['webhook-id'], event_sequence: 1, booking_code: bookingCode });
  expect(second['webhook-id']).not.toBe(first['webhook-id']);
});

test('the effective_date of a booking’s events strictly increases, and event-sequence also counts events that are filtered out', async () => {
  const filtered = await Subscribed.start(app, { change_reasons: ['BOOKING_CANCELLED'] }, { scene: subscribed.scene });
  const bookingCode = await subscribed.booking();
  await subscribed.reschedule(bookingCode);
  await subscribed.reschedule(bookingCode);
  await subscribed.cancel(bookingCode);
  const requests = await subscribed.partner.received(4);
  expect(requests.map((request) => request.headers['event-sequence'])).toEqual(['1', '2', '3', '4']);
  const dates = requests.map((request) => request.json.effective_date);
  expect([...new Set(dates)].sort()).toEqual(dates);
  const [cancelled] = await filtered.partner.received(1);
  expect(cancelled.headers['event-sequence']).toBe('4');
  expect(cancelled.json.change_reason).toBe('BOOKING_CANCELLED');
  expect(filtered.partner.requests).toHaveLength(1);
  await filtered.stop();
});

test('GET of a delivered notification shows its body and its attempt', async () => {
  subscribed.partner.answer({ status: 200, body: 'Thank you' });
  const bookingCode = await subscribed.booking();
  const [listed] = await eventually(async () => {
    const rows = await subscribed.notifications('&state=DELIVERED');
    expect(rows).toHaveLength(1);
    return rows;
  });
  expect(listed).toEqual({
    id: expect.any(String),
    account_code: subscribed.scene.account,
    subscription_id: subscribed.id,
    subscription_name: null,
    partner_url: subscribed.partner.url,
    candidate_id: expect.stringMatching(/^C-/),
    candidate_name: expect.any(String),
    booking_on: expect.any(String),
    previous_booking_on: null,
    location_timezone: 'America/Chicago',
    change_reason: 'BOOKING_CREATED',
    booking_code: bookingCode,
    svc_eligiblity_id: null,
    event_sequence: 1,
    effective_date: expect.any(String),
    state: 'DELIVERED',
    retry: null,
    failure: null,
    http_status: 200,
    next_attempt_at: null,
    created_datetime: expect.any(String),
    delivered_datetime: expect.any(String),
  });
  expect(await subscribed.notification(listed['id'])).toEqual({
    ...listed,
    body: subscribed.partner.requests[0].json,
    attempts: [
      {
        at: expect.any(String),
        duration_ms: expect.any(Number),
        trigger: 'FIRST',
        http_status: 200,
        failure: null,
        reason: null,
        excerpt: 'Thank you',
      },
    ],
  });
});

test('a later event of a booking waits until the earlier event is delivered', async () => {
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  subscribed.partner.answer(async (request) => {
    if (request.headers['event-sequence'] === '1') await held;
    return { status: 200 };
  });
  const bookingCode = await subscribed.booking();
  await subscribed.partner.received(1);
  await subscribed.reschedule(bookingCode);
  await subscribed.cancel(bookingCode);
  const other = await subscribed.booking();
  await subscribed.partner.receivedFor(other, 1);
  expect(subscribed.partner.requests.filter(({ json }) => json.booking_code === bookingCode)).toHaveLength(1);
  release();
  const requests = await subscribed.partner.receivedFor(bookingCode, 3);
  expect(requests.map((request) => request.headers['event-sequence'])).toEqual(['1', '2', '3']);
});

test('sends a later event of a booking even while an earlier event is waiting for an operator', async () => {
  subscribed.partner.answer((request) => ({ status: request.headers['event-sequence'] === '1' ? 400 : 200 }));
  const bookingCode = await subscribed.booking();
  await subscribed.reschedule(bookingCode);
  await subscribed.partner.receivedFor(bookingCode, 2);
  await eventually(async () => {
    const states = (await subscribed.notifications()).map(({ state, retry }) => [state, retry]);
    expect(states).toEqual([
      ['ERROR_QUEUE', 'MANUAL'],
      ['DELIVERED', null],
    ]);
  });
});

test('a partner that does not answer delays no other partner', async () => {
  const others = await Promise.all(Array.from({ length: 9 }, () => Subscribed.start(app)));
  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  subscribed.partner.answer(async () => {
    await held;
    return { status: 200 };
  });
  for (let i = 0; i < 20; i++) await subscribed.booking();
  await subscribed.partner.received(16);
  await Promise.all(others.flatMap((other) => [other.booking(), other.booking(), other.booking()]));
  await Promise.all(others.map((other) => other.partner.received(3)));
  expect(subscribed.partner.requests).toHaveLength(16);
  release();
  await subscribed.partner.received(20);
  await Promise.all(others.map((other) => other.stop()));
});

test('while more partners than NOTIFICATION_CONCURRENCY hang, another partner gets its notification before the first timeout', async () => {
  const SLOTS = 4;
  const small = await startApp({ env: { NOTIFICATION_CONCURRENCY: String(SLOTS) } });
  const [hanging, well] = [await Subscribed.start(small, { wait_ms: 60_000 }), await Subscribed.start(small)];
  const { partner, scene } = hanging;
  for (let n = 1; n < 3 * SLOTS; n++) {
    const settings = { account_code: scene.account, partner_url: partner.url, ca_pem: partner.caPem, wait_ms: 60_000 };
    const { id } = (await hanging.admin('POST', 'subscriptions', settings)).body;
    expect((await hanging.admin('POST', `subscriptions/${id}/verify`)).status).toBe(200);
  }
  partner.requests.length = 0;
  // One notification is delivered to each partner, so that the service counts each partner as responsive.
  await hanging.booking();
  await well.booking();
  await partner.received(3 * SLOTS);
  await well.partner.received(1);

  let release = (): void => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  partner.answer(async () => {
    await held;
    return { status: 200 };
  });
  await hanging.booking();
  await partner.received(4 * SLOTS);
  await well.booking();
  await well.partner.received(2);
  await partner.received(6 * SLOTS);
  release();
  await eventually(async () => expect((await hanging.get('/admin/notifications?state=PENDING')).body).toEqual([]));
  await Promise.all([hanging.stop(), well.stop()]);
  await small.close();
}, 60_000);
