import { randomBytes } from 'node:crypto';
import { CEILING, CONFIRMED, GROWN, INDEBTED, RESERVE } from '../../src/notifications/delivery/pace-statements';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import type { PartnerAnswer } from '../support/partner';
import { Subscribed } from '../support/subscribed';

const secretsKey = randomBytes(32).toString('base64');
let app: TestApp;
let subscribed: Subscribed;

beforeAll(async () => {
  app = await startApp({ env: { RETRY_SCHEDULE_S: '1,1,1', SECRETS_KEY: secretsKey } });
});
afterEach(() => subscribed.stop());
afterAll(() => app.close());

/**
 * Makes the partner accept the given number of requests in any one second, and answer all further requests in that
 * second with the given status.
 */
function taking(
  perSecond: number,
  busy: PartnerAnswer = { status: 429 },
): { answer: () => PartnerAnswer; busy: number } {
  const taken: number[] = [];
  const partner = {
    busy: 0,
    answer: () => {
      const now = performance.now();
      while (taken.length > 0 && taken[0] <= now - 1000) taken.shift();
      if (taken.length >= perSecond) {
        partner.busy += 1;
        return busy;
      }
      taken.push(now);
      return { status: 200 };
    },
  };
  return partner;
}

async function suspendedWith(bookings: number): Promise<string[]> {
  await subscribed.post('suspend');
  const codes: string[] = [];
  for (let done = 0; done < bookings; done += 10)
    codes.push(...(await Promise.all(Array.from({ length: 10 }, () => subscribed.booking()))));
  return codes;
}

/** Returns the arrival times of notifications, in seconds since the first arrival. */
function seconds(): number[] {
  const [first] = subscribed.partner.requests;
  return subscribed.partner.requests.map(({ at }) => (at - first.at) / 1000);
}

const delivered = (count: number, withinMs?: number) =>
  eventually(async () => (await subscribed.notifications('&state=DELIVERED')).length === count, withinMs);

test('delivers notifications at more than half of a partner’s maximum rate, and gets a 429 for at most 5 % of the requests', async () => {
  subscribed = await Subscribed.start(app);
  const codes = await suspendedWith(60);
  for (const code of codes) await subscribed.reschedule(code);
  const partner = taking(5);
  subscribed.partner.answer(partner.answer);
  await subscribed.post('resume');
  await delivered(120, 60_000);
  const { requests } = subscribed.partner;
  // The request rate depends on the load of the machine. The test therefore expects only half of the rate that the
  // partner accepts. bench/pace.ts measures the actual rate.
  expect(120 / seconds().at(-1)!).toBeGreaterThan(2.5);
  expect(partner.busy / requests.length).toBeLessThanOrEqual(0.05);
  expect(await subscribed.queue()).toEqual([]);
  for (const code of codes) {
    const sequences = requests
      .filter(({ json }) => json.booking_code === code)
      .map((one) => one.headers['event-sequence']);
    expect(sequences.join()).toMatch(/^1(,1)*,2(,2)*$/);
  }
}, 90_000);

describe('a busy partner', () => {
  test.each([
    ['429', 429, undefined],
    ['503 that is retried', 503, ['503']],
  ])(
    'a notification that the partner answers with %s is retried automatically after Retry-After, while the partner stays UP',
    async (_name, status, autoRetryOn) => {
      subscribed = await Subscribed.start(app, autoRetryOn && { auto_retry_on: autoRetryOn });
      subscribed.partner.answer((_request, index) =>
        index === 0 ? { status, headers: { 'retry-after': '3' } } : { status: 200 },
      );
      await subscribed.booking();
      const [queued] = await eventually(async () => {
        const queue = await subscribed.queue();
        expect(queue).toHaveLength(1);
        return queue;
      });
      expect(queued).toMatchObject({ retry: 'AUTO', http_status: status });
      const { health, paused_until, pace } = await subscribed.subscription();
      expect([health, pace]).toEqual(['UP', 0.5]);
      expect(Date.parse(paused_until) - Date.now()).toBeLessThanOrEqual(3_000);
      // The partner has asked for a pause. New notifications, and notifications that operators resend, also wait for
      // the end of this pause.
      await subscribed.booking();
      await subscribed.admin('POST', `error-queue/${queued['id']}/resend`);
      await delivered(2);
      expect(seconds()[1]).toBeGreaterThanOrEqual(2.9);
      expect((await subscribed.subscription())['paused_until']).toBeNull();
      const { attempts } = await subscribed.notification(queued['id']);
      expect(attempts.map((attempt: Record<string, unknown>) => attempt['http_status'])).toEqual([status, 200]);
    },
  );

  test('a 500 with Retry-After sets the time of the next probe, and no probe is sent earlier', async () => {
    subscribed = await Subscribed.start(app);
    const answers = [
      { status: 500, headers: { 'retry-after': '2' } },
      { status: 429, headers: { 'retry-after': '3' } },
    ];
    subscribed.partner.answer((_request, index) => answers[index] ?? { status: 200 });
    await subscribed.booking();
    await delivered(1, 15_000);
    const [, second, third] = seconds();
    expect(second).toBeGreaterThanOrEqual(1.9);
    expect(third - second).toBeGreaterThanOrEqual(2.9);
  }, 20_000);

  test('sends a busy partner no notification of a bulk job before Retry-After has passed, and does not pause the job', async () => {
    subscribed = await Subscribed.start(app);
    subscribed.partner.answer({ status: 400 });
    for (let made = 0; made < 3; made++) await subscribed.booking();
    await eventually(async () => (await subscribed.queue('&retry=MANUAL')).length === 3);
    const before = subscribed.partner.requests.length;
    subscribed.partner.answer((_request, index) =>
      index === before ? { status: 429, headers: { 'retry-after': '2' } } : { status: 200 },
    );
    const { body } = await subscribed.admin('POST', 'error-queue/resend', {
      filter: { subscription_id: subscribed.id },
      reason: 'mended',
    });
    await delivered(3);
    expect(seconds()[before + 1] - seconds()[before]).toBeGreaterThanOrEqual(1.9);
    await eventually(async () =>
      expect((await subscribed.admin('GET', `jobs/${body.job_id}`)).body).toMatchObject({
        state: 'DONE',
        sent: 3,
        delivered: 3,
        failed: 0,
      }),
    );
  }, 20_000);

  test('a notification answered with 429 is retried automatically, even if the stored auto_retry_on lacks 429', async () => {
    subscribed = await Subscribed.start(app);
    expect((await subscribed.patch({ auto_retry_on: ['500'] })).body.auto_retry_on).toEqual(['500', '429']);
    // In release 1.0.0, the stored `auto_retry_on` of a subscription could lack 429.
    await app.given.sql(`UPDATE subscriptions SET auto_retry_on = '{500}' WHERE id = $1`, [subscribed.id]);
    await subscribed.patch({ name: 'A partner' });
    expect((await subscribed.subscription())['auto_retry_on']).toEqual(['500', '429']);
    subscribed.partner.answer((_request, index) => ({ status: index === 0 ? 429 : 200 }));
    await subscribed.booking();
    await eventually(async () => expect(await subscribed.queue()).toMatchObject([{ retry: 'AUTO', http_status: 429 }]));
    await delivered(1);
  });
});

test('gives up on notifications to a partner that returns only 429, but not if the partner sometimes accepts a notification', async () => {
  const impatient = await startApp({ env: { RETRY_GIVE_UP_H: String(3 / 3600) } });
  subscribed = await Subscribed.start(impatient);
  try {
    let takes = true;
    subscribed.partner.answer((_request, index) => ({ status: takes && index % 2 === 1 ? 200 : 429 }));
    await subscribed.booking();
    await eventually(async () => (await subscribed.notifications('&state=DELIVERED')).length === 1);
    const [{ busy_since: cleared }] = await impatient.given.sql('SELECT busy_since FROM subscriptions WHERE id = $1', [
      subscribed.id,
    ]);
    expect(cleared).toBeNull();
    takes = false;
    const codes = [await subscribed.booking(), await subscribed.booking()];
    const rows = await eventually(async () => {
      const queue = await subscribed.queue('&retry=MANUAL&reason=GIVEN_UP');
      expect(queue.map((row) => row['booking_code'])).toEqual(codes);
      return queue;
    }, 20_000);
    // Only the oldest of the waiting notifications was attempted.
    expect(rows).toMatchObject([
      { failure: 'client_error', http_status: 429 },
      { failure: null, http_status: null },
    ]);
    expect((await subscribed.subscription())['health']).toBe('UP');
  } finally {
    await impatient.close();
  }
}, 60_000);

test('max_per_second limits the rate of notifications to a partner that never returns 429', async () => {
  subscribed = await Subscribed.start(app, { max_per_second: 10 });
  expect(await subscribed.subscription()).toMatchObject({ max_per_second: 10, pace: null });
  await suspendedWith(30);
  await subscribed.post('resume');
  await delivered(30);
  expect(seconds().at(-1)).toBeGreaterThan(2.5);
  expect((await subscribed.patch({ max_per_second: null })).body['max_per_second']).toBeNull();
  for (const wrong of [0, 1001, 1.5]) expect((await subscribed.patch({ max_per_second: wrong })).status).toBe(400);
}, 20_000);

test('two delivery processes together do not exceed max_per_second of a partner', async () => {
  subscribed = await Subscribed.start(app, { max_per_second: 10 });
  const other = await startApp({ databaseUrl: app.databaseUrl, env: { SECRETS_KEY: secretsKey } });
  try {
    await suspendedWith(40);
    await subscribed.post('resume');
    await delivered(40);
    const at = seconds();
    const most = Math.max(...at.map((from) => at.filter((second) => second >= from && second < from + 1).length));
    expect(most).toBeLessThanOrEqual(12);
  } finally {
    await other.close();
  }
}, 30_000);

test('the list of subscriptions, the single subscription and the overview of partners show the same state of a busy partner', async () => {
  subscribed = await Subscribed.start(app);
  subscribed.partner.answer({ status: 429, headers: { 'retry-after': '60' } });
  await subscribed.booking();
  const alone = await eventually(async () => {
    const one = await subscribed.subscription();
    expect(one['paused_until']).not.toBeNull();
    return one;
  });
  const { body: list } = await subscribed.get(`/admin/subscriptions?account_code=${subscribed.scene.account}`);
  expect(list).toEqual([alone]);
  // The notification is sent again when the pause ends.
  expect((await subscribed.queue())[0]['next_attempt_at']).toBe(alone['paused_until']);
  const { body: partners } = await subscribed.get(`/admin/partners?account_code=${subscribed.scene.account}`);
  const { health, failing_since, paused_until, pace } = alone;
  expect(failing_since).not.toBeNull();
  expect(partners).toMatchObject([{ health, failing_since, paused_until, pace }]);
});

describe('the pace of a partner', () => {
  const sets = (values: Record<string, number | null>) =>
    app.given.sql(
      `UPDATE subscriptions SET pace = $2, pace_ceiling = $3, pace_good = $4, pace_confirmed = $5,
         paused_from = now() - interval '2 s', paused_until = now() - interval '1 s', paced_to = NULL WHERE id = $1`,
      [subscribed.id, values['pace'], values['ceiling'], values['good'] ?? 50, values['confirmed'] ?? 0],
    );

  test.each([
    ['is guessed from the first answers', { pace: null, ceiling: null }, 5, [5, -2, 0]],
    ['stays when a trial fails, and is confirmed', { pace: 9, ceiling: 5 }, 5, [5, 1, -29]],
    ['rises when a trial had more answers', { pace: 90, ceiling: 5, confirmed: 1 }, 50, [50, 0, -29]],
    ['falls to the answers of the last second', { pace: 24, ceiling: 48, good: -20 }, 1, [1, 0, -49]],
    ['falls a little when a safe pace was too high', { pace: 4, ceiling: 4.1 }, 4, [3.8, 1, -29]],
    ['falls by a quarter at most if it is slow', { pace: 1, ceiling: 1.03 }, 0, [0.75, 0, -29]],
    ['falls by half without any answer', { pace: 4, ceiling: 4.1, good: -40 }, 0, [2, 0, -58]],
  ] as const)('after a busy response, the request rate of a partner %s', async (_title, before, answers, after) => {
    subscribed = await Subscribed.start(app);
    await sets(before);
    const [row] = await app.given.sql(
      `SELECT ${CEILING('$2::int')} AS ceiling, ${CONFIRMED(CEILING('$2::int'))} AS confirmed, ${INDEBTED} AS good
       FROM subscriptions s WHERE s.id = $1`,
      [subscribed.id, answers],
    );
    expect([Number(row['ceiling']), row['confirmed'], row['good']]).toEqual(after);
  });

  test('a request that is sent late postpones the next requests of all processes to the same partner', async () => {
    subscribed = await Subscribed.start(app);
    await sets({ pace: 0.25, ceiling: 0.25 });
    const [first, late, punctual] = [
      await app.given.sql(RESERVE.text, [subscribed.id, 1, 0]),
      await app.given.sql(RESERVE.text, [subscribed.id, 1, 2000]),
      await app.given.sql(RESERVE.text, [subscribed.id, 1, 0]),
    ].map(([row]) => row);
    expect([first, late, punctual].map((row) => row['requests'])).toEqual([1, 0, 0]);
    // The partner accepts one request in four seconds. The second request is two seconds late, so the next send time is
    // six seconds away. A process can reserve a send time at most 100 ms in advance.
    for (const row of [late, punctual]) expect(Math.abs(row['from_ms'] - 5900)).toBeLessThan(1500);
  });

  test('the request rate for a partner that accepts 50 requests a second grows to at most 48.5 requests a second', async () => {
    subscribed = await Subscribed.start(app);
    await sets({ pace: 30, ceiling: 50 });
    const [row] = await app.given.sql(`SELECT ${GROWN('10')} AS pace FROM subscriptions s WHERE s.id = $1`, [
      subscribed.id,
    ]);
    expect(row['pace']).toBe(48.5);
  });

  test.each([
    [
      'counts the responses before the pause again, because other processes may have recorded some responses late',
      6,
      3,
      6,
    ],
    ['does not raise a low rate because of a single additional response', 2, 0.5, 1],
  ])('after a pause, the first reservation of send times for a partner %s', async (_title, answers, pace, ceiling) => {
    subscribed = await Subscribed.start(app);
    await sets({ pace: 0.5, ceiling: 1 });
    await app.given.sql(
      `INSERT INTO notification_attempts (notification_position, subscription_id, at, duration_ms, trigger, http_status)
       SELECT 1, id, paused_from - interval '0.5 s', 1, 'FIRST', 200 FROM subscriptions, generate_series(1, $2::int)
       WHERE id = $1`,
      [subscribed.id, answers],
    );
    const reserved = await app.given.sql(RESERVE.text, [subscribed.id, 10, 0]);
    expect(reserved).toMatchObject([{ pace, requests: 1, wall_ms: 0 }]);
    const kept = await app.given.sql('SELECT pace, pace_ceiling FROM subscriptions WHERE id = $1', [subscribed.id]);
    expect(kept).toEqual([{ pace, pace_ceiling: ceiling }]);
  });
});
