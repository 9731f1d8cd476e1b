import { setTimeout as pause } from 'node:timers/promises';
import { QueryBus } from '@nestjs/cqrs';
import { SurveyPartnerSigns, type PartnerSigns } from '../../src/notifications/conditions.queries';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { startPartner, type PartnerAnswer } from '../support/partner';
import { Subscribed } from '../support/subscribed';

let app: TestApp;
let subscribed: Subscribed;

beforeAll(async () => {
  app = await startApp({ env: { RETRY_SCHEDULE_S: '0.6,1.2' } });
});
beforeEach(async () => {
  subscribed = await Subscribed.start(app, { wait_ms: 1000 });
});
afterEach(() => subscribed.stop());
afterAll(() => app.close());

async function queued(n = 1) {
  return eventually(async () => {
    const rows = await subscribed.queue();
    expect(rows).toHaveLength(n);
    return rows;
  });
}

describe('a failure other than a 500', () => {
  test.each<[string, PartnerAnswer, string, number | null]>([
    ['201', { status: 201 }, 'protocol', 201],
    ['204', { status: 204 }, 'protocol', 204],
    ['302', { status: 302, headers: { location: 'https://localhost/' } }, 'redirect', 302],
    ['304', { status: 304 }, 'redirect', 304],
    ['400', { status: 400, body: 'no such candidate' }, 'client_error', 400],
    ['401', { status: 401 }, 'auth', 401],
    ['403', { status: 403 }, 'auth', 403],
    ['404', { status: 404 }, 'client_error', 404],
    ['501', { status: 501 }, 'server_error', 501],
    ['503', { status: 503 }, 'server_error', 503],
    ['no answer', { endless: 'silence' }, 'timeout', null],
    ['a body that drips', { status: 200, body: 'x'.repeat(100), drip: 50 }, 'timeout', 200],
    ['a reset before the answer', { rst: 'before' }, 'connect', null],
    ['a close before the answer', { bytes: '' }, 'connect', null],
    ['a body that breaks off', { status: 200, body: 'half', rst: 'body' }, 'protocol', 200],
  ])(
    'a notification waits for an operator after a failure other than a 500: %s',
    async (_name, answer, failure, status) => {
      subscribed.partner.answer(answer);
      await subscribed.booking();
      const [row] = await queued();
      expect(row).toMatchObject({ state: 'ERROR_QUEUE', retry: 'MANUAL', failure, http_status: status });
      expect(row['next_attempt_at']).toBeNull();
      expect((await subscribed.subscription())['health']).toBe('UP');
      const { attempts } = await subscribed.notification(row['id']);
      const triggers = failure === 'connect' ? ['FIRST', 'RENEWED'] : ['FIRST'];
      expect(attempts).toMatchObject(triggers.map((trigger) => ({ trigger, failure, http_status: status })));
      expect(attempts[0].reason).toBe(status === 400 ? 'NO_MATCHING_RECORD' : attempts[0].reason);
      if (failure === 'connect') expect(attempts).toMatchObject(triggers.map(() => ({ reason: 'ECONNRESET' })));
      if (status === 400) expect(attempts[0].excerpt).toBe('no such candidate');
      // If a kept-alive connection breaks before the first byte of the response, the partner may have closed the
      // connection before it received the request. The service therefore repeats the attempt on a new connection.
      expect(subscribed.partner.requests).toHaveLength(triggers.length);
    },
  );

  test('a notification waits for an operator when the partner refuses connections', async () => {
    await subscribed.partner.goDown();
    await subscribed.booking();
    const [row] = await queued();
    expect(row).toMatchObject({ retry: 'MANUAL', failure: 'connect', http_status: null });
  });
});

/** Returns the partner's failures and recoveries that alerts report. */
async function signs(): Promise<PartnerSigns | undefined> {
  const all = await app.app.get(QueryBus, { strict: false }).execute(new SurveyPartnerSigns());
  return all.find(({ subscription_id }) => subscription_id === subscribed.id);
}

describe('the attempts of a notification', () => {
  const attemptsOf = async (bookingCode: string) => {
    const row = await eventually(async () => {
      const [found] = await subscribed.notifications(`&booking_code=${bookingCode}`);
      expect(['DELIVERED', 'ERROR_QUEUE']).toContain(found?.['state']);
      return found;
    });
    return (await subscribed.notification(row['id'])).attempts as Record<string, unknown>[];
  };

  test('records a PUT that gets a 401 as one attempt, and the PUT with a new OAuth2 token as a second attempt with trigger RENEWED', async () => {
    const issuer = await startPartner({ oauth: { clientId: 'ours', clientSecret: 'a long secret' } });
    try {
      const auth = { type: 'oauth2_client_credentials', client_id: 'ours', client_secret: 'a long secret' };
      const changed = await subscribed.patch({ auth: { ...auth, token_url: new URL('/token', issuer.url).href } });
      expect(changed.status).toBe(200);
      subscribed.partner.answer((_request, index) => ({ status: index === 0 ? 401 : 200 }));
      expect(await attemptsOf(await subscribed.booking())).toMatchObject([
        { trigger: 'FIRST', http_status: 401, failure: 'auth' },
        { trigger: 'RENEWED', http_status: 200, failure: null },
      ]);
      expect(subscribed.partner.requests).toHaveLength(2);
      // The partner did not fail, so alerts report neither a failure nor a recovery of the partner.
      expect(await signs()).toMatchObject({ failing_since: null, recovered_at: null });
    } finally {
      await issuer.stop();
    }
  });

  test('records a second attempt with trigger RENEWED when the partner closes the connection during a PUT and stops listening', async () => {
    await attemptsOf(await subscribed.booking());
    subscribed.partner.answer(() => {
      void subscribed.partner.goDown();
      return { rst: 'before' };
    });
    const [first, second, ...more] = await attemptsOf(await subscribed.booking());
    expect(more).toEqual([]);
    expect(first).toMatchObject({ trigger: 'FIRST', failure: 'connect', http_status: null });
    expect(first['reason']).not.toBe('ECONNREFUSED');
    expect(second).toMatchObject({ trigger: 'RENEWED', failure: 'connect', reason: 'ECONNREFUSED' });
    expect(await signs()).toMatchObject({ failing_since: expect.any(Date), recovered_at: null });
    expect(new Date(second['at'] as string) >= new Date(first['at'] as string)).toBe(true);
    expect(subscribed.partner.requests).toHaveLength(2);
  });

  test('records a failure, and sends no second PUT, when the partner resets a kept-alive connection during a slow request', async () => {
    await attemptsOf(await subscribed.booking());
    subscribed.partner.answer({ delayMs: 300, rst: 'before' });
    expect(await attemptsOf(await subscribed.booking())).toMatchObject([{ trigger: 'FIRST', failure: 'connect' }]);
    const [first, second, ...more] = subscribed.partner.requests;
    expect([second.connection, more]).toEqual([first.connection, []]);
  });
});

describe('automatic retry after a 500', () => {
  test('a 500 turns the partner DOWN, and later events wait in the error queue; after a 200 all are sent, oldest first', async () => {
    subscribed.partner.answer({ status: 500 });
    const first = await subscribed.booking();
    await queued();
    expect(await subscribed.subscription()).toMatchObject({ state: 'ACTIVE', health: 'DOWN' });
    const others = [await subscribed.booking(), await subscribed.booking()];
    await subscribed.reschedule(first);
    const rows = await queued(4);
    expect(rows.map((row) => row['retry'])).toEqual(['AUTO', 'AUTO', 'AUTO', 'AUTO']);
    expect(rows.map((row) => row['failure'])).toEqual(['server_error', null, null, null]);
    for (const row of rows) expect(row['next_attempt_at']).not.toBeNull();
    // While the partner was DOWN, only its oldest notification was sent, as a probe.
    expect(new Set(subscribed.partner.requests.map(({ json }) => json.booking_code))).toEqual(new Set([first]));
    subscribed.partner.requests.length = 0;
    subscribed.partner.answer({ status: 200 });
    const sent = await subscribed.partner.received(4);
    expect(sent.map(({ json }) => json.booking_code)).toEqual([first, ...others, first]);
    await queued(0);
    expect((await subscribed.subscription())['health']).toBe('UP');
    const [oldest] = await subscribed.notifications();
    const { attempts } = await subscribed.notification(oldest['id']);
    expect(attempts[0]).toMatchObject({ trigger: 'FIRST', http_status: 500 });
    expect(attempts.at(-1)).toMatchObject({ trigger: 'AUTO', http_status: 200 });
  });

  test('sends probes to a DOWN partner one at a time, with identical bytes, and never earlier than scheduled', async () => {
    subscribed.partner.answer({ status: 500 });
    await subscribed.booking();
    await subscribed.booking();
    const requests = await subscribed.partner.received(5);
    const gaps = requests.slice(1).map((request, index) => request.at - requests[index].at);
    const [sent] = requests;
    const probes = requests.filter(({ json }) => json.booking_code === sent.json.booking_code);
    for (const probe of probes) {
      expect(probe.raw.equals(sent.raw)).toBe(true);
      expect(probe.headers['webhook-id']).toBe(sent.headers['webhook-id']);
    }
    // The test ignores the time between the first two requests, because the second request may have been sent before
    // the partner became DOWN.
    const scheduled = gaps.slice(-3);
    expect(Math.min(...scheduled)).toBeGreaterThanOrEqual(600);
    expect(scheduled.at(-1)).toBeGreaterThanOrEqual(1200);
  });

  test('when a probe fails with a 400, its notification waits for an operator, and the next oldest one becomes the probe', async () => {
    subscribed.partner.answer({ status: 500 });
    const first = await subscribed.booking();
    await queued();
    const second = await subscribed.booking();
    await queued(2);
    subscribed.partner.answer(({ json }) => ({ status: json.booking_code === first ? 400 : 200 }));
    await subscribed.partner.receivedFor(second, 1);
    const [row] = await queued(1);
    expect(row).toMatchObject({ booking_code: first, retry: 'MANUAL', failure: 'client_error', http_status: 400 });
    expect((await subscribed.subscription())['health']).toBe('UP');
  });

  test('sends a manual resend immediately while the partner is DOWN, and a 200 turns the partner UP', async () => {
    await subscribed.patch({ auto_retry_on: ['500'] });
    subscribed.partner.answer({ status: 500 });
    await subscribed.booking();
    const [row] = await queued();
    // Postpones the next probe, so that only the resent notification can make the partner UP again.
    await app.given.sql(`UPDATE subscriptions SET next_probe_at = now() + interval '1 hour' WHERE id = $1`, [
      subscribed.id,
    ]);
    const waiting = await subscribed.booking();
    await queued(2);
    subscribed.partner.answer({ status: 200 });
    const resent = await subscribed.admin('POST', `error-queue/${row['id']}/resend`, { reason: 'they are back' });
    expect(resent.status).toBe(202);
    expect(resent.body).toMatchObject({ state: 'PENDING', retry: null });
    await subscribed.partner.receivedFor(waiting, 1);
    await eventually(async () => expect((await subscribed.subscription())['health']).toBe('UP'));
    await queued(0);
    const { attempts } = await subscribed.notification(row['id']);
    expect(attempts.at(-1)).toMatchObject({ trigger: 'MANUAL', http_status: 200 });
  });

  test.each<[string, PartnerAnswer]>([
    ['502', { status: 502 }],
    ['408', { status: 408 }],
    ['timeout', { endless: 'silence' }],
    ['connection', { rst: 'before' }],
  ])('with auto_retry_on, failures other than a 500 and 429 are retried automatically: %s', async (cause, answer) => {
    const { body } = await subscribed.patch({ auto_retry_on: [cause] });
    expect(body.auto_retry_on).toEqual(['500', '429', cause]);
    subscribed.partner.answer(answer);
    const booking = await subscribed.booking();
    await eventually(async () => expect((await subscribed.subscription())['health']).toBe('DOWN'));
    subscribed.partner.answer({ status: 200 });
    await eventually(async () => {
      const [row] = await subscribed.notifications();
      expect(row).toMatchObject({ booking_code: booking, state: 'DELIVERED' });
    });
  });

  test('stops the automatic retries of a notification after RETRY_GIVE_UP_H hours', async () => {
    subscribed.partner.answer({ status: 500 });
    await subscribed.booking();
    await queued();
    await app.given.sql(
      `UPDATE notifications SET queued_datetime = now() - interval '25 hours' WHERE subscription_id = $1`,
      [subscribed.id],
    );
    await eventually(async () =>
      expect((await subscribed.queue())[0]).toMatchObject({ retry: 'MANUAL', http_status: 500 }),
    );
    const before = subscribed.partner.requests.length;
    await pause(1500);
    expect(subscribed.partner.requests).toHaveLength(before);
  });
});

describe('a subscription', () => {
  test('keeps the events of a suspended subscription, and sends them when the subscription is resumed', async () => {
    expect((await subscribed.post('suspend')).body).toMatchObject({ state: 'SUSPENDED' });
    const first = await subscribed.booking();
    const second = await subscribed.booking();
    await pause(1200);
    expect(subscribed.partner.requests).toHaveLength(0);
    expect((await subscribed.notifications()).map((row) => row['state'])).toEqual(['PENDING', 'PENDING']);
    expect((await subscribed.post('resume')).body).toMatchObject({ state: 'ACTIVE' });
    await subscribed.partner.receivedFor(first, 1);
    await subscribed.partner.receivedFor(second, 1);
  });

  test('keeps the connections to a partner until a setting on which they depend changes', async () => {
    const first = await subscribed.booking();
    await subscribed.partner.receivedFor(first, 1);
    await subscribed.post('suspend');
    await subscribed.post('resume');
    expect((await subscribed.post('rotate-secret')).status).toBe(200);
    const second = await subscribed.booking();
    await subscribed.partner.receivedFor(second, 1);
    expect(subscribed.partner.connections).toBe(1);
    expect((await subscribed.patch({ auth: { type: 'bearer', token: 'a-token' } })).status).toBe(200);
    await subscribed.post('verify');
    const third = await subscribed.booking();
    await subscribed.partner.receivedFor(third, 1);
    expect(subscribed.partner.connections).toBe(2);
  });

  test('does not probe a DOWN partner while its subscription is suspended', async () => {
    subscribed.partner.answer({ status: 500 });
    await subscribed.booking();
    await queued();
    await subscribed.post('suspend');
    const before = subscribed.partner.requests.length;
    await pause(1500);
    expect(subscribed.partner.requests.length - before).toBeLessThanOrEqual(1);
    const [row] = await subscribed.queue();
    const resend = await subscribed.admin('POST', `error-queue/${row['id']}/resend`);
    expect([resend.status, resend.body.code]).toEqual([409, 'subscription_suspended']);
    subscribed.partner.answer({ status: 200 });
    await subscribed.post('resume');
    await queued(0);
  });

  test('keeps the notifications of a subscription while its new address is unverified, and sends none of them', async () => {
    await subscribed.patch({ partner_url: `${subscribed.partner.url}/other` });
    await subscribed.booking();
    await eventually(async () => expect(await subscribed.notifications()).toMatchObject([{ state: 'PENDING' }]));
    await pause(500);
    expect(subscribed.partner.requests).toHaveLength(0);
  });

  test('resolves the queued notifications of a subscription that is deleted', async () => {
    subscribed.partner.answer({ status: 400 });
    await subscribed.booking();
    await queued();
    await subscribed.post('suspend');
    await subscribed.booking();
    await eventually(async () => expect(await subscribed.notifications()).toHaveLength(2));
    const deleted = await app.call('DELETE', `/admin/subscriptions/${subscribed.id}`, { token: subscribed.operator });
    expect(deleted.status).toBe(204);
    await eventually(async () =>
      expect((await subscribed.notifications()).map((row) => [row['state'], row['retry']])).toEqual([
        ['RESOLVED', null],
        ['RESOLVED', null],
      ]),
    );
    expect((await subscribed.get(`/admin/subscriptions/${subscribed.id}`)).status).toBe(404);
    await subscribed.booking();
    await pause(500);
    expect(subscribed.partner.requests).toHaveLength(1);
  });
});
