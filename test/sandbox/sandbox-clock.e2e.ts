import { randomBytes } from 'node:crypto';
import { decodeJwt } from 'jose';
import { DeliverySchedule } from '../../src/notifications/delivery/delivery-schedule';
import { Logger } from '../../src/platform/observability/logger';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { dateTime } from '../support/given';
import { Subscribed } from '../support/subscribed';

const HOUR_S = 3_600;
const DAY_S = 86_400;
const SANDBOX = {
  SANDBOX: 'true',
  RETRY_SCHEDULE_S: '3600',
  RETRY_GIVE_UP_H: '24',
  SECRETS_KEY: randomBytes(32).toString('base64'),
};

describe('the clock of the sandbox', () => {
  let one: TestApp;
  let two: TestApp;
  const started: Subscribed[] = [];
  const startSubscribed = async () => {
    const subscribed = await Subscribed.start(one);
    started.push(subscribed);
    return subscribed;
  };

  beforeAll(async () => {
    one = await startApp({ env: SANDBOX });
    two = await startApp({ env: SANDBOX, databaseUrl: one.databaseUrl });
  });
  afterAll(async () => {
    for (const subscribed of started) await subscribed.stop();
    await two.close();
    await one.close();
  });

  async function move(body: object, app = one) {
    return app.call('POST', '/sandbox/clock', { token: await one.given.operator(), body });
  }

  async function advance(advance_s: number): Promise<void> {
    const answer = await move({ advance_s });
    if (answer.status !== 200) throw new Error(answer.text);
  }

  const timeOf = async (app: TestApp) =>
    Date.parse((await app.call('GET', '/sandbox/clock', { token: await one.given.operator() })).body.now);

  it('a request advances the sandbox’s clock in every process immediately, and writes an audit row', async () => {
    expect(Math.abs((await timeOf(one)) - Date.now())).toBeLessThan(5_000);
    const answer = await move({ advance_s: DAY_S });
    const shown = Date.parse(answer.body.now);
    expect(shown - Date.now()).toBeGreaterThan((DAY_S - 10) * 1000);
    expect(await timeOf(two)).toBeGreaterThanOrEqual(shown);
    const later = dateTime(shown + 2 * DAY_S * 1000);
    expect((await move({ now: later }, two)).body).toEqual({ now: later });
    expect(await timeOf(one)).toBeGreaterThanOrEqual(Date.parse(later));
    const [row] = (
      await one.call('GET', '/admin/audit?action=sandbox.clock&limit=1', { token: await one.given.operator() })
    ).body;
    expect(Date.parse(row.at)).toBeGreaterThanOrEqual(Date.parse(later));
  });

  it("the offset of the sandbox's clock is a constant in the query plan, so that it adds no cost to a statement", async () => {
    for (const name of ['now', 'statement_timestamp', 'clock_timestamp']) {
      const plan = await one.given.sql(`EXPLAIN (VERBOSE) SELECT ${name}()`);
      expect(JSON.stringify(plan)).toContain(`(pg_catalog.${name}() + '`);
    }
  });

  it('refuses to move the sandbox’s clock back or too far ahead, and refuses a body that does not contain exactly one move', async () => {
    const before = dateTime((await timeOf(one)) - 10_000);
    const faults = async (body: object) => {
      const answer = await move(body);
      return [answer.status, ...answer.body.errors.map((fault: any) => `${fault.pointer} ${fault.code}`)];
    };
    expect(await faults({ now: before })).toEqual([400, '/now clock_backwards']);
    expect(await faults({ advance_s: -1 })).toEqual([400, '/advance_s out_of_range']);
    // For some times, PostgreSQL converts milliseconds to an interval inexactly. The test therefore repeats the request
    // at many times.
    for (let time = 0; time < 300; time++)
      expect(await faults({ now: '9000-01-01T00:00:00Z' })).toEqual([400, '/now clock_too_far']);
    expect(await faults({})).toEqual([400, ' clock_move_unclear']);
    expect(await faults({ advance_s: 1, now: before })).toEqual([400, ' clock_move_unclear']);
    expect(await faults({ advance: 1 })).toEqual([400, '/advance unknown_field']);
    expect(await timeOf(two)).toBeGreaterThanOrEqual(Date.parse(before) + 10_000);
  });

  it('only an operator can move the clock, and only in a sandbox', async () => {
    const { token } = await one.given.scene();
    expect((await one.call('GET', '/sandbox/clock', { token })).status).toBe(403);
    expect((await one.call('GET', '/sandbox/clock')).status).toBe(401);
    const plain = await startApp();
    try {
      for (const [method, path] of [
        ['GET', 'clock'],
        ['POST', 'clock'],
        ['POST', 'events'],
        ['GET', 'received'],
      ])
        expect((await fetch(`${plain.url}/sandbox/${path}`, { method })).status).toBe(404);
      expect(await plain.given.sql(`SELECT to_regnamespace('sandbox') AS made`)).toEqual([{ made: null }]);
    } finally {
      await plain.close();
    }
  });

  it('moving the sandbox’s clock closes the windows of records, and the change feed reports the expiries', async () => {
    const scene = await one.given.scene();
    const now = await timeOf(one);
    const record = await one.given.eligibility(scene, { eligibility_end_date: dateTime(now + 2 * DAY_S * 1000) });
    expect(record['status']).toBe('ELIGIBLE');
    await advance(3 * DAY_S);
    const token = await one.given.token([scene.account]);
    const { body } = await two.call(
      'GET',
      `/accounts/${scene.account}/candidates/${record['candidate'].candidate_id}`,
      {
        token,
      },
    );
    expect(body[0].status).toBe('EXPIRED');
    await eventually(async () => {
      const feed = (await two.call('GET', `/accounts/${scene.account}/changes`, { token })).body as any[];
      expect(feed.map(({ change }) => change)).toEqual(['CREATED', 'EXPIRED']);
    });
  });

  it('moving the sandbox’s clock makes tokens and launch links expire', async () => {
    const scene = await one.given.scene();
    const now = await timeOf(one);
    const record = await one.given.eligibility(scene, { eligibility_end_date: dateTime(now + 9 * DAY_S * 1000) });
    const launch = () =>
      one.call('GET', `/eligibilities/${record['svc_eligiblity_id']}/testLaunchInfo`, { token: scene.token });
    const early = (await launch()).body.launch_url as string;
    await advance(299);
    const begun = Math.floor((await timeOf(one)) / 1000);
    const redeemed = await fetch(early, { redirect: 'manual' });
    expect(redeemed.status).toBe(303);
    const { iat, exp } = decodeJwt(new URL(redeemed.headers.get('location')!).searchParams.get('launch_token')!);
    // The times in the signed launch token come from the clock of the sandbox, which the test driver of the sandbox
    // uses as well.
    expect([iat! >= begun, iat! - begun < 60, exp! - iat!]).toEqual([true, true, 60]);
    const late = (await launch()).body.launch_url as string;
    await advance(301);
    expect((await fetch(late, { redirect: 'manual' })).status).toBe(410);
    await advance(HOUR_S);
    expect((await launch()).status).toBe(401);
    expect((await two.call('GET', `/accounts/${scene.account}/eligibilities`, { token: scene.token })).status).toBe(
      401,
    );
  });

  it('moving the sandbox’s clock makes the next probe of a DOWN partner due, and later ends the automatic retries', async () => {
    const subscribed = await startSubscribed();
    const { partner } = subscribed;
    partner.answer({ status: 500 });
    const end = dateTime((await timeOf(one)) + 90 * DAY_S * 1000);
    const booking = async () => {
      const token = await one.given.token([subscribed.scene.account]);
      const scene = { ...subscribed.scene, token };
      const record = await one.given.eligibility(scene, { eligibility_end_date: end });
      return one.given.booking(scene, record, { booking_on: dateTime((await timeOf(one)) + DAY_S * 1000) });
    };
    await booking();
    await eventually(async () => (await one.given.sql(`SELECT health FROM subscriptions`))[0]['health'] === 'DOWN');
    await advance(2 * HOUR_S);
    await partner.received(2);
    await advance(26 * HOUR_S);
    await eventually(
      async () =>
        (await one.given.sql(`SELECT retry FROM notifications WHERE state = 'ERROR_QUEUE'`))[0]['retry'] === 'MANUAL',
    );
  });

  it('moving the sandbox’s clock does not expire leases, so a running attempt is not repeated', async () => {
    const subscribed = await startSubscribed();
    let answer = (): void => undefined;
    subscribed.partner.answer(async () => {
      await new Promise<void>((resolve) => (answer = resolve));
      return { status: 200 };
    });
    const end = dateTime((await timeOf(one)) + 90 * DAY_S * 1000);
    const record = await one.given.eligibility(subscribed.scene, { eligibility_end_date: end });
    await one.given.booking(subscribed.scene, record, { booking_on: dateTime((await timeOf(one)) + DAY_S * 1000) });
    await subscribed.partner.received(1);
    await advance(DAY_S);
    // After the clock was moved, the test makes both processes look for due notifications.
    const looked = `SELECT count(*)::int AS n FROM deliveries WHERE leased_until > pg_catalog.now()`;
    await two.app.get(DeliverySchedule).sweep();
    await one.app.get(DeliverySchedule).sweep();
    expect(await one.given.sql(looked)).toEqual([{ n: 1 }]);
    expect(subscribed.partner.requests).toHaveLength(1);
    answer();
    await eventually(async () => {
      const rows = await one.given.sql(
        `SELECT n.state, a.at > now() - interval '1 hour' AS at_new_time FROM notifications n
         JOIN notification_attempts a ON a.notification_position = n.position WHERE n.subscription_id = $1`,
        [subscribed.id],
      );
      expect(rows).toEqual([{ state: 'DELIVERED', at_new_time: false }]);
    });
    expect(subscribed.partner.requests).toHaveLength(1);
    // The timestamp of the notification's signature is real time, because partners compare it with their own clocks.
    const sent = Number(subscribed.partner.requests[0].headers['webhook-timestamp']);
    expect(Math.abs(sent - Date.now() / 1000)).toBeLessThan(60);
  });

  it('moving the sandbox’s clock by years ends retention periods, and the change feed still records later changes', async () => {
    expect(await one.given.sql(`SELECT 1 FROM notifications WHERE state = 'DELIVERED'`)).toHaveLength(1);
    await advance(95 * DAY_S);
    await eventually(
      async () => (await one.given.sql(`SELECT 1 FROM notifications WHERE state = 'DELIVERED'`)).length === 0,
    );
    await advance(800 * DAY_S);
    const scene = await two.given.scene();
    const end = dateTime((await timeOf(two)) + DAY_S * 1000);
    await two.given.eligibility(scene, { eligibility_end_date: end });
    await one.given.settled();
    const [entry] = (await one.call('GET', `/accounts/${scene.account}/changes`, { token: scene.token })).body;
    expect(Date.parse(entry.at)).toBeGreaterThan(Date.now() + 890 * DAY_S * 1000);
  });

  it('a restarted sandbox keeps its moved clock, and logs no missing query handler while it starts', async () => {
    await advance(DAY_S);
    const before = await timeOf(one);
    const warn = jest.spyOn(Logger.prototype, 'warn');
    const three = await startApp({ env: SANDBOX, databaseUrl: one.databaseUrl });
    try {
      expect(await timeOf(three)).toBeGreaterThanOrEqual(before);
      const errors = warn.mock.calls.map(([fields]) => String((fields as { err?: unknown }).err));
      expect(errors.filter((text) => text.includes('No handler found'))).toEqual([]);
    } finally {
      warn.mockRestore();
      await three.close();
    }
  });
});
