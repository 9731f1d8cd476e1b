import { JobRunner } from '../../src/notifications/delivery/job-runner';
import { PollWaiters } from '../../src/notifications/partner-side/poll-waiters';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { Polling } from '../support/polling';
import { Subscribed } from '../support/subscribed';

let app: TestApp;
let polling: Polling;
let subscribed: Subscribed;

beforeAll(async () => {
  app = await startApp();
  polling = await Polling.start(app);
  ({ subscribed } = polling);
});
afterAll(async () => {
  await subscribed.stop();
  await app.close();
});
beforeEach(async () => {
  await polling.drain();
  subscribed.partner.requests.length = 0;
});

const idOf = ({ id }: Record<string, any>): string => id as string;

/** Waits until the given number of notifications can be polled, and polls them. */
async function polled(count: number, order: Record<string, unknown> = {}): Promise<Record<string, any>[]> {
  const found: Record<string, any>[] = [];
  await eventually(async () => {
    found.push(...(await polling.poll(order)).notifications);
    expect(found).toHaveLength(count);
  });
  return found;
}

describe('a subscription with delivery POLL', () => {
  it('a POLL subscription without an address is ACTIVE and unchanged by verify, while sample fails with subscription_polled', async () => {
    const scene = await app.given.scene();
    const created = await subscribed.admin('POST', 'subscriptions', { account_code: scene.account, delivery: 'POLL' });
    expect(created.body).toMatchObject({ state: 'ACTIVE', delivery: 'POLL', partner_url: null, paused_until: null });
    const path = `subscriptions/${created.body.id}`;
    const { signing_secret: _, ...unchanged } = created.body;
    const verified = await subscribed.admin('POST', `${path}/verify`);
    expect([verified.status, verified.body]).toEqual([200, unchanged]);
    const token = await app.given.token([], ['partner'], [created.body.id]);
    const own = await polling.call('POST', `/partner/${path}/verify`, undefined, token);
    expect([own.status, own.body]).toEqual([200, unchanged]);
    const sample = await subscribed.admin('POST', `${path}/sample`, {});
    expect([sample.status, sample.body.code]).toEqual([409, 'subscription_polled']);
    const partners = await subscribed.admin('GET', `partners?account_code=${scene.account}`);
    expect(partners.body).toMatchObject([{ partner_url: null, delivery: 'POLL', paused_until: null }]);
  });

  it('the address of a POLL subscription is verified with a sample, and a change to PUSH then needs no further verification', async () => {
    const scene = await app.given.scene();
    const { url, caPem: ca_pem } = subscribed.partner;
    const { body } = await subscribed.admin('POST', 'subscriptions', {
      ...{ account_code: scene.account, delivery: 'POLL', partner_url: `${url}/own`, ca_pem },
    });
    const path = `subscriptions/${body.id}`;
    subscribed.partner.answer({ status: 400 });
    expect((await subscribed.admin('POST', `${path}/verify`)).body.code).toBe('verification_failed');
    subscribed.partner.answer({ status: 200 });
    const verified = await subscribed.admin('POST', `${path}/verify`);
    expect(verified.body).toMatchObject({ state: 'ACTIVE', delivery: 'POLL', health: 'UP', paused_until: null });
    expect(subscribed.partner.requests).toHaveLength(2);
    const pushed = await subscribed.admin('PATCH', path, { delivery: 'PUSH' });
    expect(pushed.body).toMatchObject({ state: 'ACTIVE', delivery: 'PUSH' });
  });

  it('a subscription needs an address for PUSH, and is UNVERIFIED after it changes to PUSH with a new address', async () => {
    const scene = await app.given.scene();
    const without = await subscribed.admin('POST', 'subscriptions', { account_code: scene.account });
    expect(without.body.errors).toMatchObject([{ pointer: '/partner_url', code: 'required' }]);
    const { body } = await subscribed.admin('POST', 'subscriptions', { account_code: scene.account, delivery: 'POLL' });
    const path = `subscriptions/${body.id}`;
    const refused = await subscribed.admin('PATCH', path, { delivery: 'PUSH' });
    expect(refused.body.errors).toMatchObject([{ pointer: '/partner_url', code: 'required' }]);
    const changed = await subscribed.admin('PATCH', path, { delivery: 'PUSH', partner_url: subscribed.partner.url });
    expect(changed.body).toMatchObject({ delivery: 'PUSH', state: 'UNVERIFIED' });
  });

  it('a POLL subscription accepts null as partner_url, and a PUSH subscription refuses it', async () => {
    const scene = await app.given.scene();
    const asked = { account_code: scene.account, partner_url: null };
    const { body } = await subscribed.admin('POST', 'subscriptions', { ...asked, delivery: 'POLL' });
    expect(body).toMatchObject({ delivery: 'POLL', state: 'ACTIVE', partner_url: null });
    const path = `subscriptions/${body.id}`;
    const { url } = subscribed.partner;
    expect((await subscribed.admin('PATCH', path, { partner_url: url })).body).toMatchObject({ partner_url: url });
    expect((await subscribed.admin('PATCH', path, { partner_url: null })).body).toMatchObject({ partner_url: null });
    const pushed = { delivery: 'PUSH', partner_url: url };
    expect((await subscribed.admin('PATCH', path, pushed)).body.state).toBe('UNVERIFIED');
    for (const answer of [
      await subscribed.admin('POST', 'subscriptions', asked),
      await subscribed.admin('PATCH', path, { partner_url: null }),
    ])
      expect([answer.status, answer.body.errors]).toMatchObject([400, [{ pointer: '/partner_url', code: 'required' }]]);
    const back = await subscribed.admin('PATCH', path, { delivery: 'POLL', partner_url: null });
    expect(back.body).toMatchObject({ delivery: 'POLL', state: 'ACTIVE', partner_url: null });
  });

  it('a subscription that changes from POLL back to PUSH keeps its verified address', async () => {
    expect(await polling.turn('PUSH')).toMatchObject({ delivery: 'PUSH', state: 'ACTIVE' });
    expect(await polling.turn('POLL')).toMatchObject({ delivery: 'POLL', state: 'ACTIVE' });
  });

  it('a poll returns the sequence and the stored bytes of a notification, and no PUT is sent to a POLL subscription', async () => {
    const bookingCode = await subscribed.booking();
    const [offered] = await polled(1);
    expect(offered).toMatchObject({ event_sequence: 1, change_reason: 'BOOKING_CREATED' });
    expect(JSON.parse(offered['body'])).toMatchObject({ booking_code: bookingCode });
    const [row] = await app.given.sql('SELECT body FROM notifications WHERE id = $1', [offered['id']]);
    expect(offered['body']).toBe(row['body']);
    expect((await polling.poll({ ack: [offered['id']] })).unknown).toEqual([]);
    const notification = await subscribed.notification(offered['id']);
    expect(notification).toMatchObject({ state: 'DELIVERED', http_status: 200, retry: null });
    expect(notification['attempts']).toMatchObject([
      { trigger: 'FIRST', http_status: 200, failure: null, reason: null },
    ]);
    expect(subscribed.partner.requests).toEqual([]);
  });
});

describe('refused notifications and expired leases', () => {
  it('a notification that is refused in a poll waits for an operator, as after a 400, with the partner’s reason and detail', async () => {
    await subscribed.booking();
    const [{ id }] = await polled(1);
    await polling.poll({ refuse: [{ id, reason: 'NO_MATCHING_RECORD', detail: 'No such candidate.' }] });
    expect(await subscribed.queue()).toMatchObject([
      { id, retry: 'MANUAL', failure: 'client_error', http_status: 400 },
    ]);
    const [attempt] = (await subscribed.notification(id))['attempts'];
    expect(attempt).toMatchObject({ http_status: 400, reason: 'NO_MATCHING_RECORD', excerpt: 'No such candidate.' });
    const { body } = await subscribed.get('/admin/error-queue/summary');
    expect(body.find((cause: any) => cause.subscription_id === subscribed.id)).toMatchObject({ count: 1 });
  });

  it('a poll offers a notification that an operator has resent from the error queue', async () => {
    const [{ id }] = await subscribed.queue();
    expect((await subscribed.admin('POST', `error-queue/${id}/resend`)).status).toBe(202);
    expect((await polled(1)).map(idOf)).toEqual([id]);
    await polling.poll({ ack: [id] });
    expect((await subscribed.notification(id))['attempts']).toMatchObject([
      {},
      { trigger: 'MANUAL', http_status: 200 },
    ]);
  });

  it('a polled notification without acknowledgement is recorded as a timeout, retried automatically and offered again', async () => {
    await subscribed.booking();
    const [first] = await polled(1);
    expect((await polling.poll()).notifications).toEqual([]);
    await polling.lapse();
    const late = await polling.poll({ ack: [first['id']] });
    expect(late['unknown']).toEqual([first['id']]);
    expect(late['notifications']).toEqual([first]);
    expect(await subscribed.queue('&retry=AUTO')).toMatchObject([
      { id: first['id'], failure: 'timeout', http_status: null },
    ]);
    await polling.poll({ ack: [first['id']] });
    expect(await subscribed.notification(first['id'])).toMatchObject({
      state: 'DELIVERED',
      attempts: [
        { trigger: 'FIRST', failure: 'timeout', reason: 'LEASE_LAPSED', duration_ms: 60_000 },
        { trigger: 'AUTO', http_status: 200 },
      ],
    });
    expect(await subscribed.subscription()).toMatchObject({ health: 'UP', next_probe_at: null });
  });

  it("the expiry of a polled notification's lease is recorded without a further poll", async () => {
    await subscribed.booking();
    const [{ id }] = await polled(1);
    await polling.lapse();
    await eventually(async () =>
      expect(await subscribed.queue('&retry=AUTO')).toMatchObject([{ id, failure: 'timeout' }]),
    );
  });

  it('a poll of one subscription can acknowledge and refuse notifications that the caller leased from another subscription', async () => {
    const scene = await app.given.scene();
    const created = await subscribed.admin('POST', 'subscriptions', { account_code: scene.account, delivery: 'POLL' });
    const second = created.body.id as string;
    const both = await app.given.token([], ['partner'], [subscribed.id, second]);
    await subscribed.booking();
    await subscribed.booking();
    const leased: string[] = [];
    await eventually(async () => {
      leased.push(...(await polling.poll({ subscription_id: subscribed.id }, both))['notifications'].map(idOf));
      expect(leased).toHaveLength(2);
    });
    const order = { subscription_id: second, ack: [leased[0]], refuse: [{ id: leased[1], reason: 'OTHER' }] };
    expect((await polling.poll(order, both))['unknown']).toEqual([]);
    expect((await subscribed.notification(leased[0]))['state']).toBe('DELIVERED');
    expect((await subscribed.notification(leased[1]))['state']).toBe('ERROR_QUEUE');
  });

  it('a poll writes audit rows that state how many notifications of a subscription it acknowledged and how many it refused', async () => {
    for (let at = 0; at < 3; at++) await subscribed.booking();
    const leased = (await polled(3)).map(idOf);
    await polling.poll({
      return_immediately: true,
      ack: leased.slice(0, 2),
      refuse: [{ id: leased[2], reason: 'OTHER' }],
    });
    await polling.poll({ return_immediately: true, ack: leased });
    const { body } = await subscribed.get(
      `/admin/audit?subject=${subscribed.id}&action=notification.acknowledge&limit=1`,
    );
    expect(body).toMatchObject([{ account_code: subscribed.scene.account, changed: [], count: 2 }]);
    const refused = await subscribed.get(`/admin/audit?subject=${subscribed.id}&action=notification.refuse&limit=1`);
    expect(refused.body).toMatchObject([{ account_code: subscribed.scene.account, changed: [], count: 1 }]);
  });

  it('the `unknown` member of a poll’s response lists ids that the caller has not leased; their notifications do not change', async () => {
    await subscribed.booking();
    const [{ id }] = await polled(1);
    const other = await app.given.token([], ['partner'], [subscribed.id]);
    const foreign = '00000000-0000-4000-8000-000000000000';
    const answer = await polling.poll({ ack: [id, foreign], refuse: [{ id: foreign, reason: 'OTHER' }] }, other);
    expect(answer['unknown'].sort()).toEqual([foreign, id].sort());
    expect((await polling.poll({ ack: [id] }))['unknown']).toEqual([]);
    expect((await polling.poll({ ack: [id] }))['unknown']).toEqual([id]);
    expect((await subscribed.notification(id))['attempts']).toHaveLength(1);
  });
});

describe('ids that a partner sends back', () => {
  it('the `unknown` member of a poll’s response lists invalid ids unchanged, and the poll processes the other ids', async () => {
    await subscribed.booking();
    const [{ id }] = await polled(1);
    const strange = ['zzz', id.toUpperCase(), '', '\u0000', '\ud800', 'é'.repeat(100)];
    const refuse = ['no id', id.toUpperCase()].map((one) => ({ id: one, reason: 'OTHER' }));
    const answer = await polling.poll({ ack: [...strange, id], refuse });
    expect(answer['unknown']).toEqual([...strange, 'no id']);
    expect((await subscribed.notification(id))['state']).toBe('DELIVERED');
  });

  it('a poll that contains an id of more than 100 characters gets 400', async () => {
    const body = { ack: ['x'.repeat(101)], refuse: [{ id: 'x'.repeat(101), reason: 'OTHER' }] };
    const answer = await polling.call('POST', '/partner/notifications/poll', body);
    expect([answer.status, answer.body.errors]).toMatchObject([
      400,
      [
        { pointer: '/ack/0', code: 'too_long' },
        { pointer: '/refuse/0/id', code: 'too_long' },
      ],
    ]);
  });
});

describe('the notifications that a poll returns', () => {
  it('a poll offers the next event of a booking once the earlier event is acknowledged or refused', async () => {
    const bookingCode = await subscribed.booking();
    await subscribed.reschedule(bookingCode);
    await subscribed.cancel(bookingCode);
    await eventually(async () =>
      expect(await subscribed.notifications(`&booking_code=${bookingCode}`)).toHaveLength(3),
    );
    const sequences: number[] = [];
    for (let order: Record<string, unknown> = {}, turn = 0; turn < 3; turn++) {
      const { notifications } = await polling.poll(order);
      expect(notifications).toHaveLength(1);
      sequences.push(notifications[0].event_sequence);
      const { id } = notifications[0];
      order = turn === 1 ? { refuse: [{ id, reason: 'OTHER' }] } : { ack: [id] };
      if (turn === 2) await polling.poll(order);
    }
    expect(sequences).toEqual([1, 2, 3]);
  });

  it('max limits the number of notifications in a poll, and more_available shows that there are more', async () => {
    const codes = [await subscribed.booking(), await subscribed.booking(), await subscribed.booking()];
    await eventually(async () => expect(await subscribed.notifications('&state=PENDING')).toHaveLength(codes.length));
    const first = await polling.poll({ max: 2 });
    expect([first['notifications'].length, first['more_available']]).toEqual([2, true]);
    const second = await polling.poll({ max: 2, ack: first['notifications'].map(idOf) });
    expect([second['notifications'].length, second['more_available']]).toEqual([1, false]);
    await polling.poll({ ack: second['notifications'].map(idOf) });
  });

  it('polls of a suspended subscription offer no notification, but can acknowledge one that was offered before the suspension', async () => {
    await subscribed.booking();
    const [{ id }] = await polled(1);
    await subscribed.booking();
    expect((await subscribed.post('suspend')).status).toBe(200);
    expect(await polling.poll({ ack: [id] })).toMatchObject({ notifications: [], unknown: [] });
    expect((await subscribed.notification(id))['state']).toBe('DELIVERED');
    expect((await subscribed.post('resume')).status).toBe(200);
    await polling.poll({ ack: (await polled(1)).map(idOf) });
  });

  it('polls offer the notifications of a bulk resend and of a replay, and the jobs count the outcomes', async () => {
    await subscribed.booking();
    await subscribed.booking();
    const offered = await polled(2);
    await polling.poll({ refuse: offered.map(({ id }) => ({ id, reason: 'OTHER' })) });
    const resend = await subscribed.admin('POST', 'error-queue/resend', {
      filter: { subscription_id: subscribed.id, reason: 'OTHER' },
      reason: 'fixed',
    });
    expect(resend.status).toBe(202);
    const job = async (id: string) => (await subscribed.get(`/admin/jobs/${id}`)).body;
    const done = async (id: string, ids: string[], counts: Record<string, number>) => {
      const seen: string[] = [];
      await eventually(async () => {
        seen.push(...(await polling.drain()).map(idOf));
        expect(await job(id)).toMatchObject({ state: 'DONE', ...counts });
      });
      expect(seen.sort()).toEqual([...ids].sort());
    };
    const ids = offered.map(idOf);
    const matched = (await subscribed.queue('&reason=OTHER')).map(idOf);
    await done(resend.body.job_id, matched, { sent: matched.length, delivered: matched.length, failed: 0 });
    const replay = await subscribed.admin('POST', 'notifications/replay', {
      subscription_id: subscribed.id,
      filter: { booking_code: JSON.parse(offered[0]['body']).booking_code },
      reason: 'lost',
    });
    await done(replay.body.job_id, [ids[0]], { sent: 1, delivered: 1 });
    expect((await subscribed.notification(ids[0]))['attempts'].at(-1)).toMatchObject({
      trigger: 'REPLAY',
      http_status: 200,
    });
  });

  it.each(['pause', 'resume', 'abort'])(
    'refuses the action %s for a job whose last notification was just acknowledged, because the job has finished',
    async (action) => {
      await subscribed.booking();
      const [{ id }] = await polled(1);
      await polling.poll({ ack: [id] });
      const started = await polling.call('POST', '/partner/notifications/replay', { ids: [id] });
      const path = `/partner/jobs/${started.body.job_id}`;
      expect((await polled(1)).map(idOf)).toEqual([id]);
      if (action === 'resume') expect((await polling.call('POST', `${path}/pause`)).body.state).toBe('PAUSED');
      const runner = jest.spyOn(app.app.get(JobRunner), 'advance').mockResolvedValue();
      try {
        expect((await polling.poll({ ack: [id] })).unknown).toEqual([]);
        const steered = await polling.call('POST', `${path}/${action}`);
        expect([steered.status, steered.body.code]).toEqual([409, 'job_finished']);
      } finally {
        runner.mockRestore();
      }
      expect((await polling.call('GET', path)).body).toMatchObject({
        state: 'DONE',
        sent: 1,
        delivered: 1,
        waiting: 0,
      });
    },
  );

  it('polls offer a replayed notification again when its lease expires', async () => {
    const [{ id }] = await subscribed.notifications('&state=DELIVERED');
    const { body } = await subscribed.admin('POST', 'notifications/replay', {
      subscription_id: subscribed.id,
      filter: { booking_code: (await subscribed.notification(id))['booking_code'], change_reason: 'BOOKING_CREATED' },
      reason: 'lost',
    });
    expect((await polled(1)).map(idOf)).toEqual([id]);
    await polling.lapse();
    expect((await polled(1)).map(idOf)).toEqual([id]);
    await polling.poll({ ack: [id] });
    await eventually(async () =>
      expect((await subscribed.get(`/admin/jobs/${body.job_id}`)).body).toMatchObject({
        state: 'DONE',
        delivered: 1,
        failed: 0,
      }),
    );
    expect((await subscribed.notification(id))['state']).toBe('DELIVERED');
  });
});

describe('changes of records', () => {
  it('record changes are polled like booking events, and the body of each is its entry in the change feed', async () => {
    const other = await Polling.start(app, { record_changes: ['CREATED'] });
    const record = await app.given.eligibility(other.subscribed.scene);
    const { notifications } = await other.poll({ return_immediately: false });
    expect(notifications).toMatchObject([{ change_reason: 'CREATED', event_sequence: 1 }]);
    expect(JSON.parse(notifications[0].body)).toMatchObject({
      change: 'CREATED',
      svc_eligiblity_id: record['svc_eligiblity_id'],
    });
    await other.poll({ ack: notifications.map(idOf) });
    expect((await other.subscribed.notification(notifications[0].id))['state']).toBe('DELIVERED');
    await other.subscribed.stop();
  });
});

describe('waiting polls', () => {
  it('a poll waits for the first notification, and returns it', async () => {
    const waiting = polling.poll({ return_immediately: false });
    await subscribed.booking();
    const { notifications } = await waiting;
    expect(notifications).toHaveLength(1);
    await polling.poll({ ack: notifications.map(idOf) });
  });

  it('a poll without a body uses the default settings, and waits for a notification', async () => {
    const waiting = polling.call('POST', '/partner/notifications/poll');
    await subscribed.booking();
    const { status, body } = await waiting;
    expect([status, body.notifications]).toMatchObject([200, [{ change_reason: 'BOOKING_CREATED' }]]);
    await polling.poll({ ack: body.notifications.map(idOf) });
  });

  it('the change of a subscription to POLL wakes a waiting poll', async () => {
    await polling.turn('PUSH');
    await subscribed.post('suspend');
    await subscribed.booking();
    const waiting = polling.poll({ return_immediately: false });
    await polling.turn('POLL');
    await subscribed.post('resume');
    const { notifications } = await waiting;
    expect(notifications).toHaveLength(1);
    await polling.poll({ ack: notifications.map(idOf) });
  });

  it('a waiting poll whose client disconnects leases no notification', async () => {
    const gone = new AbortController();
    const path = `${app.url}/partner/notifications/poll`;
    const headers = { authorization: `Bearer ${polling.token}`, 'content-type': 'application/json' };
    const waiting = fetch(path, { method: 'POST', headers, body: '{}', signal: gone.signal });
    const refused = expect(waiting).rejects.toThrow();
    gone.abort();
    await refused;
    await subscribed.booking();
    const notifications = await polled(1);
    await polling.poll({ ack: notifications.map(idOf) });
    expect(await app.given.sql('SELECT FROM poll_offers')).toEqual([]);
  });

  it('a waiting poll whose token is revoked gets no notification', async () => {
    const token = await app.given.token([], ['partner'], [subscribed.id]);
    const waiting = polling.call('POST', '/partner/notifications/poll', {}, token);
    await eventually(() => expect(app.app.get(PollWaiters).count).toBe(1));
    await app.given.sql(
      `UPDATE token_families SET revoked_at = now() WHERE family_id =
         (SELECT family_id FROM access_tokens WHERE token_hash = sha256($1::bytea))`,
      [token],
    );
    await subscribed.booking();
    const { status, headers } = await waiting;
    expect([status, headers.get('www-authenticate')]).toEqual([401, expect.stringContaining('error="invalid_token"')]);
    const notifications = await polled(1);
    await polling.poll({ ack: notifications.map(idOf) });
  });

  it('a poll reports every fault of its request', async () => {
    const body = { max: 101, lease_s: 9, ack: [1], refuse: [{ id: 2, reason: 'WHY' }], wait: true };
    const answer = await polling.call('POST', '/partner/notifications/poll', body);
    expect(answer.body.errors.map(({ pointer, code }: any) => `${pointer} ${code}`).sort()).toEqual([
      '/ack/0 type_invalid',
      '/lease_s out_of_range',
      '/max out_of_range',
      '/refuse/0/id type_invalid',
      '/refuse/0/reason refusal_unknown',
      '/wait unknown_field',
    ]);
  });

  it('a poll of another partner’s subscription is answered with 404', async () => {
    const other = await app.given.token([], ['partner'], []);
    const body = { subscription_id: subscribed.id, return_immediately: true };
    expect((await polling.call('POST', '/partner/notifications/poll', body, other)).status).toBe(404);
    expect((await polling.poll({}, other))['notifications']).toEqual([]);
  });
});
