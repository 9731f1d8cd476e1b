import { DigestUpkeep } from '../../src/notifications/delivery/digest-upkeep';
import { NotificationRetention } from '../../src/notifications/delivery/notification-retention';
import { startApp, type TestApp } from '../support/app';
import { digestOf, digestsOf, type Kept } from '../support/digests';
import { eventually } from '../support/eventually';
import { Polling } from '../support/polling';
import { Subscribed } from '../support/subscribed';

let app: TestApp;
let polling: Polling;
let subscribed: Subscribed;

beforeAll(async () => {
  app = await startApp();
  subscribed = await Subscribed.start(app);
  polling = await Polling.of(subscribed);
});
afterAll(async () => {
  await subscribed.stop();
  await app.close();
});

interface Step {
  from: string;
  to: string;
  count: number;
  digest: string;
}

const seconds = (at: number): string => new Date(at * 1000).toISOString().slice(0, 19) + 'Z';
const second = (at: string): number => Date.parse(at) / 1000;

async function digest(from: string, to: string, stepS?: number, of = polling): Promise<Step[]> {
  const step = stepS === undefined ? '' : `&step_s=${stepS}`;
  const path = `/partner/digest?subscription_id=${of.subscribed.id}&from=${from}&to=${to}${step}`;
  const answer = await of.call('GET', path);
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
  return answer.body as Step[];
}

/** Returns the delivered notifications of a partner, as the partner has received them. */
async function received(of = subscribed): Promise<Kept[]> {
  return app.given.sql(
    `SELECT id, event_sequence, body FROM notifications WHERE subscription_id = $1 AND state = 'DELIVERED'`,
    [of.id],
  ) as Promise<Kept[]>;
}

/**
 * Requests digests with steps of several lengths. Checks that each returned step has the count and the digest of the
 * stored notifications in its period.
 */
async function expectDigestsOf(kept: readonly Kept[], of = polling): Promise<void> {
  const now = Math.floor(Date.now() / 1000);
  const own = digestsOf(kept);
  for (const [from, to, step] of [
    [now - 7200 - (now % 3600), now + 3600, undefined],
    [now - 86_400 * 20 + 17, now + 3600, 86_400],
    [now - 86_400 * 200, now + 7, 86_400 * 7 + 1],
    [now - 1900, now + 61, 77],
    [now - 600, now + 60, 1],
    [now - 599, now + 60, 300],
  ] as const) {
    const steps = await digest(seconds(from), seconds(to), step, of);
    expect(steps[0].from).toBe(seconds(from));
    expect(steps.at(-1)!.to).toBe(seconds(to));
    expect(steps).toEqual(steps.map(({ from, to }) => ({ from, to, ...own(from, to) })));
  }
}

/** Adds notifications that were delivered to a partner in the past, with the attempts that delivered them. */
async function deliveredBefore(count: number, days: number, of = subscribed): Promise<void> {
  await app.given.slowSql(
    `WITH made AS (
       INSERT INTO notifications (event_id, subscription_id, account_code, change_reason, booking_code, event_sequence,
         effective_date, body, state, created_datetime, delivered_datetime)
       SELECT gen_random_uuid(), $1, $2, 'BOOKING_CREATED', 'OLD' || n, 1, at, json_build_object('booking_code', 'OLD' || n,
         'candidate_id', 'C' || n, 'booking_on', '2030-01-01T00:00:00Z', 'effective_date', to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')), 'DELIVERED', at, at
       FROM generate_series(1, $3::int) n,
         LATERAL (SELECT now() - make_interval(secs => n * $4::float8 * 86400 / $3::int + 0.25) AS at) t
       RETURNING position, subscription_id, created_datetime)
     INSERT INTO notification_attempts (notification_position, subscription_id, at, duration_ms, trigger, http_status)
     SELECT position, subscription_id, created_datetime, 5, 'FIRST', 200 FROM made`,
    [of.id, of.scene.account, count, days],
  );
}

describe('the digest of delivered notifications', () => {
  it('the digest contains pushed and polled notifications after they have been acknowledged', async () => {
    await subscribed.booking();
    await eventually(async () => expect(await received()).toHaveLength(1));
    await polling.turn('POLL');
    await subscribed.booking();
    let offered: Record<string, any>[] = [];
    await eventually(async () => {
      offered = (await polling.poll())['notifications'];
      expect(offered).toHaveLength(1);
    });
    await expectDigestsOf(await received());
    await polling.poll({ ack: [offered[0]['id']] });
    const kept = await received();
    expect(kept.map(({ id }) => id)).toContain(offered[0]['id']);
    await expectDigestsOf(kept);
    await polling.turn('PUSH');
  });

  it('the digest of thousands of notifications is exact, both before and after its pending changes are merged', async () => {
    await deliveredBefore(3000, 15);
    await expectDigestsOf(await received());
    await eventually(async () => expect((await app.given.sql('SELECT FROM digest_changes')).length).toBeLessThan(500));
    await expectDigestsOf(await received());
  });

  it('the digest does not change when a notification is delivered again', async () => {
    const [{ id }] = (await received()).slice(-1);
    await subscribed.admin('POST', 'notifications/replay', {
      subscription_id: subscribed.id,
      filter: { booking_code: (await subscribed.notification(id))['booking_code'] },
      reason: 'again',
    });
    await eventually(async () => expect((await subscribed.notification(id))['attempts'].length).toBeGreaterThan(1));
    await expectDigestsOf(await received());
  });

  it('after the erasure of a candidate, the digest covers the body that the partner acknowledged, until a replay sends the new body', async () => {
    const bookingCode = await subscribed.booking();
    await subscribed.cancel(bookingCode);
    await eventually(async () =>
      expect(await subscribed.notifications(`&booking_code=${bookingCode}&state=DELIVERED`)).toHaveLength(2),
    );
    const before = await received();
    const candidateId = (await subscribed.notifications(`&booking_code=${bookingCode}`))[0]['candidate_id'];
    const path = `accounts/${subscribed.scene.account}/candidates/${candidateId}/erase`;
    expect((await subscribed.admin('POST', path, { reason: 'asked' })).status).toBe(202);
    await eventually(async () => expect(await received()).not.toEqual(before));
    await expectDigestsOf(before);
    const requests = subscribed.partner.requests.length;
    await subscribed.admin('POST', 'notifications/replay', {
      subscription_id: subscribed.id,
      filter: { booking_code: bookingCode },
      reason: 'again',
    });
    await eventually(() => expect(subscribed.partner.requests).toHaveLength(requests + 2));
    await eventually(async () => expectDigestsOf(await received()));
  });

  it('the digest no longer contains notifications that were deleted after their retention period', async () => {
    const before = await received();
    const old = `now() - interval '200 days'`;
    await app.given.sql(
      `UPDATE notifications SET created_datetime = ${old}, delivered_datetime = ${old} WHERE position IN (
         SELECT position FROM notifications WHERE state = 'DELIVERED' ORDER BY position LIMIT 40)`,
    );
    expect(await app.app.get(NotificationRetention).run()).toBe(40);
    const kept = await received();
    expect(kept).toHaveLength(before.length - 40);
    await expectDigestsOf(kept);
    await app.given.sql(
      'INSERT INTO digest_changes SELECT $1, to_timestamp(n), 0, repeat($2, 256)::bit(256) FROM generate_series(1, 501) n',
      ['00000000-0000-4000-8000-000000000000', '0'],
    );
    await app.app.get(DigestUpkeep).run();
    await expectDigestsOf(kept);
    await app.app.get(DigestUpkeep).removeEmpty();
    expect(await app.given.sql('SELECT FROM digest_buckets WHERE count = 0')).toEqual([]);
    await expectDigestsOf(kept);
  });

  it('after an upgrade, the digest is exact both before and after the digests of earlier notifications are computed', async () => {
    await app.given.sql('TRUNCATE delivered_digests, digest_buckets, digest_changes');
    const [{ last }] = await app.given.sql('SELECT max(position) AS last FROM notifications');
    await app.given.sql('UPDATE digest_backfill SET position = $1', [last]);
    const kept = await received();
    await expectDigestsOf(kept);
    await app.given.sql('UPDATE digest_backfill SET position = $1', [last]);
    const upkeep = new DigestUpkeep(app.database);
    await subscribed.booking();
    await upkeep.run();
    await eventually(async () => {
      expect(await app.given.sql('SELECT position FROM digest_backfill')).toEqual([{ position: 0 }]);
      expect((await received()).length).toBe(kept.length + 1);
    });
    await expectDigestsOf(await received());
  });
});

describe('GET /partner/digest', () => {
  it('GET /partner/digest returns one-hour steps by default, and zeros for steps without notifications', async () => {
    const steps = await digest('2030-01-01T00:00:00Z', '2030-01-01T03:30:00Z');
    expect(steps.map(({ from, to }) => `${from} ${to}`)).toEqual([
      '2030-01-01T00:00:00Z 2030-01-01T01:00:00Z',
      '2030-01-01T01:00:00Z 2030-01-01T02:00:00Z',
      '2030-01-01T02:00:00Z 2030-01-01T03:00:00Z',
      '2030-01-01T03:00:00Z 2030-01-01T03:30:00Z',
    ]);
    expect(new Set(steps.map(({ count, digest }) => `${count} ${digest}`))).toEqual(new Set([`0 ${'0'.repeat(64)}`]));
  });

  it.each([
    ['from=2030-01-01T00:00:00Z&to=2030-01-01T00:00:00Z', 'to range_empty'],
    ['from=2030-01-01T00:00:00Z&to=2031-01-01T00:00:00Z', 'step_s too_many_steps'],
    ['from=2030-01-01T00:00:00Z&to=2030-01-02T00:00:00Z&step_s=0', 'step_s out_of_range'],
    ['from=2030-01-01T00:00:00Z&to=2030-01-02T00:00:00Z&step=5', 'step unknown_parameter'],
    ['from=2030-01-01T00:00:00Z', 'to required'],
  ])('GET /partner/digest?%s is refused with %s', async (query, fault) => {
    const answer = await polling.call('GET', `/partner/digest?subscription_id=${subscribed.id}&${query}`);
    expect(answer.status).toBe(400);
    expect(answer.body.errors.map(({ parameter, code }: any) => `${parameter} ${code}`)).toEqual([fault]);
  });

  it('GET /partner/digest returns 404 for another partner’s subscription', async () => {
    const other = await app.given.token([], ['partner']);
    const path = `/partner/digest?subscription_id=${subscribed.id}&from=2030-01-01T00:00:00Z&to=2030-01-02T00:00:00Z`;
    expect((await polling.call('GET', path, undefined, other)).status).toBe(404);
  });
});

describe('missing notifications', () => {
  it('a partner that has lost ten notifications finds all of them through the digests with at most 200 requests', async () => {
    const other = await Subscribed.start(app);
    const of = await Polling.of(other);
    await deliveredBefore(20_000, 30, other);
    const all = await received(other);
    const lost = all.filter((_, index) => index % 2000 === 777);
    expect(lost).toHaveLength(10);
    const kept = all.filter((one) => !lost.includes(one));
    const own = digestsOf(kept);
    const now = Math.ceil(Date.now() / 1000);
    let requests = 0;
    const differing = async (from: string, to: string, stepS: number): Promise<Step[]> => {
      requests += 1;
      const steps = await digest(from, to, stepS, of);
      return steps.filter(({ from, to, ...found }) => JSON.stringify(found) !== JSON.stringify(own(from, to)));
    };
    const found: Step[] = [];
    const narrow = async ({ from, to }: Pick<Step, 'from' | 'to'>): Promise<void> => {
      const length = second(to) - second(from);
      const steps = await differing(from, to, Math.max(1, Math.ceil(length / 500)));
      for (const step of steps)
        if (second(step.to) - second(step.from) === 1) found.push(step);
        else await narrow(step);
    };
    await narrow({ from: seconds(now - 31 * 86_400), to: seconds(now) });
    expect(found.map((step) => step.count - own(step.from, step.to).count)).toEqual(lost.map(() => 1));
    expect(requests).toBeLessThanOrEqual(20 * lost.length);
    const missing = found.map((step) => BigInt(`0x${step.digest}`) ^ BigInt(`0x${own(step.from, step.to).digest}`));
    expect(new Set(missing)).toEqual(new Set(lost.map(digestOf)));
    const listed = await Promise.all(
      found.map(async (step) => {
        const path = `/partner/notifications?subscription_id=${other.id}&from=${step.from}&to=${step.to}`;
        return ((await of.call('GET', path)).body as { id: string }[]).map(({ id }) => id);
      }),
    );
    const ids = listed.flat().filter((id) => !kept.some((one) => one.id === id));
    expect(new Set(ids)).toEqual(new Set(lost.map(({ id }) => id)));
    expect((await of.call('POST', '/partner/notifications/replay', { ids })).status).toBe(202);
    await other.partner.received(lost.length);
    const healed = other.partner.requests.map((request) => ({
      id: request.headers['webhook-id'],
      event_sequence: Number(request.headers['event-sequence']),
      body: request.raw.toString(),
    }));
    expect(new Set(healed.map(digestOf))).toEqual(new Set(lost.map(digestOf)));
    await other.stop();
  });
});
