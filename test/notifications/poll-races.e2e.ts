import { setTimeout as pause } from 'node:timers/promises';
import { PollOffers } from '../../src/notifications/delivery/poll-offers';
import { DeliveryLoop } from '../../src/notifications/delivery/delivery-loop';
import { ClockWatch } from '../../src/notifications/delivery/clock-watch';
import { PollWaiters } from '../../src/notifications/partner-side/poll-waiters';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { holdAt } from '../support/races';
import { Polling } from '../support/polling';
import { Subscribed } from '../support/subscribed';

const SECRETS_KEY = Buffer.alloc(32, 7).toString('base64');

/** Two processes share one database: one only serves requests, and the other also delivers. */
describe('races of polls', () => {
  let api: TestApp;
  let both: TestApp;
  let subscribed: Subscribed;
  let polling: Polling;

  beforeAll(async () => {
    both = await startApp({ env: { SECRETS_KEY } });
    api = await startApp({ databaseUrl: both.databaseUrl, env: { SECRETS_KEY, ROLES: 'api' } });
  });
  afterAll(async () => {
    await api.close();
    await both.close();
  });
  beforeEach(async () => {
    polling = await Polling.start(both);
    ({ subscribed } = polling);
  });
  afterEach(() => subscribed.stop());

  const poll = (app: TestApp, body: Record<string, unknown> = {}) =>
    app.call('POST', '/partner/notifications/poll', { token: polling.token, body });

  it('many simultaneous polls lease each notification once', async () => {
    await Promise.all(Array.from({ length: 12 }, () => subscribed.booking()));
    await eventually(async () => expect(await subscribed.notifications()).toHaveLength(12));
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => poll(index % 2 ? api : both, { return_immediately: true, max: 2 })),
    );
    const ids = answers.flatMap(({ body }) => body.notifications.map(({ id }: { id: string }) => id));
    expect(new Set(ids).size).toBe(ids.length);
    const rest = (await polling.drain()).map(({ id }) => id);
    expect(new Set([...ids, ...rest]).size).toBe(12);
    expect(ids.length + rest.length).toBe(12);
  });

  it('a process without the `delivery` role answers a waiting poll when another process creates an event', async () => {
    const waiting = poll(api);
    await subscribed.booking();
    expect((await waiting).body.notifications).toHaveLength(1);
  });

  it('only one of many simultaneous acknowledgements of a notification counts', async () => {
    await subscribed.booking();
    const { notifications } = (await poll(api)).body;
    const ack = [notifications[0].id];
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, index) => poll(index % 2 ? api : both, { ack, return_immediately: true })),
    );
    expect(answers.filter(({ body }) => body.unknown.length === 0)).toHaveLength(1);
    expect((await subscribed.notification(ack[0]))['attempts']).toHaveLength(1);
  });

  it('an acknowledgement at the moment at which the lease expires results in exactly one outcome', async () => {
    for (let round = 0; round < 5; round++) {
      await subscribed.booking();
      const { notifications } = (await poll(api)).body;
      const [{ id }] = notifications;
      await both.given.sql(
        `WITH lease AS (UPDATE deliveries SET leased_until = clock_timestamp() + interval '30 milliseconds'
           WHERE leased_until IS NOT NULL RETURNING leased_until)
         UPDATE poll_offers SET leased_until = lease.leased_until FROM lease`,
      );
      const [answer] = await Promise.all([
        pause(25).then(() => poll(api, { ack: [id], return_immediately: true })),
        pause(30).then(() => both.app.get(PollOffers).lapse(null)),
      ]);
      const isLate = answer.body.unknown.length === 1;
      const expected = isLate ? { state: 'ERROR_QUEUE', retry: 'AUTO' } : { state: 'DELIVERED', retry: null };
      await eventually(async () => expect(await subscribed.notification(id)).toMatchObject(expected));
      expect((await subscribed.notification(id))['attempts']).toHaveLength(1);
      await polling.lapse();
      await polling.drain();
    }
  });

  it('while a PUT is in progress, polls offer neither its notification nor later notifications of the booking', async () => {
    await polling.turn('PUSH');
    let answer!: () => void;
    const held = new Promise<void>((resolve) => (answer = resolve));
    subscribed.partner.answer(() => held.then(() => ({ status: 200 })));
    const bookingCode = await subscribed.booking();
    await subscribed.partner.received(1);
    await subscribed.reschedule(bookingCode);
    // A change to POLL does not wait for attempts that have already begun. It therefore does not wait for the PUT that
    // is in progress.
    await polling.turn('POLL');
    expect((await poll(api, { return_immediately: true })).body.notifications).toEqual([]);
    answer();
    const { body } = await poll(api);
    expect(body.notifications).toMatchObject([{ event_sequence: 2 }]);
    expect(subscribed.partner.requests.map(({ headers }) => headers['event-sequence'])).toEqual(['1']);
    await polling.poll({ ack: [body.notifications[0].id] });
  });

  it('a notification that was claimed for PUSH is not sent after its subscription has changed to POLL', async () => {
    await polling.turn('PUSH');
    await subscribed.post('suspend');
    await subscribed.booking();
    await eventually(async () => expect(await subscribed.notifications()).toHaveLength(1));
    const held = holdAt(both, 'claimed');
    await subscribed.post('resume');
    await held.reached;
    const turned = polling.turn('POLL');
    // The change to POLL has been committed, but the service answers the request for the change only after the claim is
    // released.
    await eventually(async () => expect(await subscribed.subscription()).toMatchObject({ delivery: 'POLL' }));
    expect((await poll(api, { return_immediately: true })).body.notifications).toEqual([]);
    held.release();
    await turned;
    expect(await polling.drain()).toHaveLength(1);
    expect(subscribed.partner.requests).toEqual([]);
  });

  it('a polled notification can be acknowledged after its subscription has changed to PUSH, and is then not sent', async () => {
    await subscribed.booking();
    const { notifications } = (await poll(api)).body;
    await polling.turn('PUSH');
    expect((await poll(api, { ack: [notifications[0].id], return_immediately: true })).body.unknown).toEqual([]);
    expect((await subscribed.notification(notifications[0].id))['state']).toBe('DELIVERED');
    expect(subscribed.partner.requests).toEqual([]);
  });

  it('a polled notification is sent if its lease expires after the subscription has changed to PUSH', async () => {
    await subscribed.booking();
    const { notifications } = (await poll(api)).body;
    await polling.turn('PUSH');
    await polling.lapse();
    await eventually(async () =>
      expect((await subscribed.notification(notifications[0].id))['state']).toBe('DELIVERED'),
    );
    expect(subscribed.partner.requests).toHaveLength(1);
  });

  it('the expired lease of a polled notification is recorded as an attempt before the notification is sent', async () => {
    await subscribed.booking();
    const [{ id }] = (await poll(api)).body.notifications;
    await polling.turn('PUSH');
    await polling.lapseClaims();
    for (let round = 0; round < 5; round++) {
      await both.app.get(DeliveryLoop).findWork();
      await pause(100);
    }
    expect(subscribed.partner.requests).toEqual([]);
    await polling.lapse();
    await eventually(async () => expect((await subscribed.notification(id))['state']).toBe('DELIVERED'));
    expect((await subscribed.notification(id))['attempts']).toMatchObject([
      { trigger: 'FIRST', failure: 'timeout', reason: 'LEASE_LAPSED', http_status: null },
      { trigger: 'AUTO', failure: null, http_status: 200 },
    ]);
    expect(subscribed.partner.requests).toHaveLength(1);
  });

  it('a polled notification is neither offered again nor resent before the expiry of its lease is recorded', async () => {
    await subscribed.booking();
    const [{ id }] = (await poll(api)).body.notifications;
    await polling.lapse();
    const [again] = (await poll(api)).body.notifications;
    expect(again.id).toBe(id);
    await polling.lapseClaims();
    expect((await poll(api, { return_immediately: true })).body.notifications).toEqual([]);
    for (const action of ['resend', 'resolve']) {
      const answer = await subscribed.admin('POST', `error-queue/${id}/${action}`, { reason: 'lost' });
      expect([answer.status, answer.body.code]).toEqual([409, 'not_in_error_queue']);
    }
    await polling.lapse();
    await polling.drain();
    expect((await subscribed.notification(id))['attempts']).toHaveLength(3);
  });

  it('a DOWN partner becomes UP when it changes to POLL, and can poll the notifications that waited', async () => {
    await polling.turn('PUSH');
    subscribed.partner.answer({ status: 500 });
    const codes = [await subscribed.booking(), await subscribed.booking()];
    await eventually(async () => expect(await subscribed.queue('&retry=AUTO')).toHaveLength(2));
    expect(await polling.turn('POLL')).toMatchObject({ health: 'UP', next_probe_at: null });
    expect(await polling.drain()).toHaveLength(codes.length);
    expect(await subscribed.queue()).toEqual([]);
  });

  it('the delivery loop claims no notification of a polling partner, even if a process of release 1.0.0 has set the partner DOWN', async () => {
    await both.given.sql(
      `UPDATE subscriptions SET health = 'DOWN', next_probe_at = now(), paused_from = NULL, paused_until = NULL WHERE id = $1`,
      [subscribed.id],
    );
    await subscribed.booking();
    await eventually(async () => expect(await subscribed.notifications()).toHaveLength(1));
    const loop = both.app.get(DeliveryLoop);
    await loop.findWork();
    await loop.probe();
    expect(await polling.drain()).toHaveLength(1);
    expect(subscribed.partner.requests).toEqual([]);
  });

  it('the check for clock corrections does not shorten the long lease of a polled notification', async () => {
    await subscribed.booking();
    const { notifications } = (await poll(api, { lease_s: 600 })).body;
    await both.app.get(ClockWatch).check();
    const [lease] = await both.given.sql(
      `SELECT leased_until > now() + interval '500 seconds' AS long FROM deliveries WHERE subscription_id = $1`,
      [subscribed.id],
    );
    expect(lease).toEqual({ long: true });
    await polling.poll({ ack: [notifications[0].id] });
  });

  it('waiting polls end without an error when their process stops, and lease no notification', async () => {
    const third = await startApp({ databaseUrl: both.databaseUrl, env: { SECRETS_KEY, ROLES: 'api' } });
    const headers = { connection: 'close' };
    const options = { token: polling.token, body: {}, headers };
    const waiting = [1, 2].map(() => third.call('POST', '/partner/notifications/poll', options));
    const waiters = third.app.get(PollWaiters);
    await eventually(() => expect(waiters.count).toBe(2));
    await third.close();
    for (const answer of await Promise.all(waiting)) {
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({ notifications: [], more_available: false, unknown: [] });
    }
  });
});
