import { setTimeout as pause } from 'node:timers/promises';
import { Outbox } from '../../src/platform/events/outbox';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { BulkJobs, refused } from '../support/queued';
import { holdAny, holdAt } from '../support/races';
import { Subscribed } from '../support/subscribed';

const SECRETS_KEY = Buffer.alloc(32, 7).toString('base64');

/**
 * In these tests, two processes share one database. A test stops one process at a certain step of its work while the
 * other process continues.
 */
describe('races of delivery', () => {
  let first: TestApp;
  let second: TestApp;
  let subscribed: Subscribed;

  const ids = () => subscribed.partner.requests.map((request) => request.headers['webhook-id']);
  const attempts = (id: string) =>
    first.given.sql(
      `SELECT a.http_status FROM notification_attempts a JOIN notifications n ON n.position = a.notification_position
       WHERE n.id = $1`,
      [id],
    );
  const lapse = () =>
    first.given.sql(
      `UPDATE deliveries SET leased_until = clock_timestamp() - interval '1 second' WHERE leased_until IS NOT NULL`,
    );

  beforeAll(async () => {
    first = await startApp({ env: { SECRETS_KEY } });
    second = await startApp({ databaseUrl: first.databaseUrl, env: { SECRETS_KEY, ROLES: 'delivery' } });
  });
  afterAll(async () => {
    await second.close();
    await first.close();
  });
  beforeEach(async () => {
    subscribed = await Subscribed.start(first);
  });
  afterEach(() => subscribed.stop());

  it('a process that loses its lease while the partner answers records nothing, because its fencing token is no longer valid', async () => {
    const [stale, owner] = [holdAt(first, 'attempt ended'), holdAt(second, 'attempt ended')];
    await subscribed.booking();
    await Promise.race([stale.reached, owner.reached]);
    // The test lets the leases expire again and again, until both processes have sent the notification.
    const both = Promise.all([stale.reached, owner.reached]).then(() => true);
    while (!(await Promise.race([both, pause(300, false)]))) await lapse();
    const [id] = ids();
    expect(new Set(ids())).toEqual(new Set([id]));
    const [{ lease_token }] = await first.given.sql(
      `UPDATE deliveries SET lease_token = 4711, leased_until = clock_timestamp() + interval '1 hour'
       RETURNING lease_token`,
    );
    stale.release();
    owner.release();
    await pause(500);
    expect(await attempts(id)).toEqual([]);
    expect(await first.given.sql('SELECT lease_token FROM deliveries')).toEqual([{ lease_token }]);
    await lapse();
    await eventually(async () => expect(await attempts(id)).toEqual([{ http_status: 200 }]));
    expect((await subscribed.notification(id)).state).toBe('DELIVERED');
  });

  const owed = (condition = 'true') =>
    first.given.sql(`SELECT FROM deliveries WHERE subscription_id = $1 AND ${condition}`, [subscribed.id]);
  const leased = () => owed('leased_until > clock_timestamp() AND NOT begun');
  const both = () => [first, second];
  const sequences = () => subscribed.partner.requests.map(({ headers }) => Number(headers['event-sequence']));
  /**
   * Creates a booking, and waits until its notification has been delivered and no notification is leased. Returns the
   * booking code.
   */
  async function known(): Promise<string> {
    const booking = await subscribed.booking();
    await eventually(async () => expect(await subscribed.notifications('&state=DELIVERED')).toHaveLength(1));
    await eventually(async () => expect(await leased()).toHaveLength(0));
    subscribed.partner.requests.length = 0;
    return booking;
  }

  describe('translation of events', () => {
    it('when two processes translate events simultaneously, each event gets one notification, and all are sent in order', async () => {
      const booking = await known();
      const hold = holdAny(both(), 'translating');
      await subscribed.reschedule(booking);
      await hold.reached;
      await subscribed.reschedule(booking);
      // The test lets the claims of the untranslated events expire, so that both processes translate the same events.
      await first.given.sql(
        `UPDATE domain_events SET claimed_until = clock_timestamp() - interval '1 second' WHERE settled_at IS NULL`,
      );
      await second.app.get(Outbox).sweep();
      await first.app.get(Outbox).sweep();
      hold.release();
      await subscribed.partner.received(2);
      await eventually(async () => expect(await subscribed.notifications('&state=DELIVERED')).toHaveLength(3));
      expect(sequences()).toEqual([2, 3]);
    });

    it('sends a partner no notification after the response to POST suspend, not even one that was claimed when it was created', async () => {
      await known();
      const hold = holdAny(both(), 'translated');
      await subscribed.booking();
      await hold.reached;
      await eventually(async () => expect(await subscribed.notifications()).toHaveLength(2));
      const born = (await leased()).length;
      let answered = false;
      const suspended = subscribed.post('suspend').then(() => (answered = true));
      if (born > 0) {
        await pause(300);
        expect(answered).toBe(false);
      }
      hold.release();
      await suspended;
      expect(await leased()).toHaveLength(0);
      expect(subscribed.partner.requests).toHaveLength(0);
      await subscribed.post('resume');
      await subscribed.partner.received(1);
    });
  });

  describe('suspending a partner', () => {
    it('POST suspend responds only after another process has released the probe that it had claimed', async () => {
      subscribed.partner.answer({ status: 500 });
      const hold = holdAny(both(), 'probe claimed');
      await subscribed.booking();
      await eventually(async () => expect((await subscribed.subscription())['health']).toBe('DOWN'));
      await hold.reached;
      await eventually(async () => expect(await leased()).toHaveLength(1));
      const before = subscribed.partner.requests.length;
      let answered = false;
      const suspended = subscribed.post('suspend').then(() => (answered = true));
      await pause(300);
      expect(answered).toBe(false);
      hold.release();
      await suspended;
      expect(await leased()).toHaveLength(0);
      expect(subscribed.partner.requests).toHaveLength(before);
    });

    it('claims no notification for a partner whose suspension is about to commit, and keeps new notifications until resume', async () => {
      await known();
      const hold = holdAt(first, 'changing subscription');
      const suspended = subscribed.post('suspend');
      await hold.reached;
      await subscribed.booking();
      await eventually(async () => expect(await subscribed.notifications()).toHaveLength(2));
      // Waits until both processes have looked for due notifications in the database.
      await pause(1_200);
      expect(subscribed.partner.requests).toHaveLength(0);
      hold.release();
      await suspended;
      expect(subscribed.partner.requests).toHaveLength(0);
      await subscribed.post('resume');
      await subscribed.partner.received(1);
    });
  });

  describe('a bulk job', () => {
    const resend = () => jobs.start('error-queue/resend', { filter: { subscription_id: subscribed.id } });
    let jobs: BulkJobs;
    beforeEach(async () => {
      jobs = new BulkJobs(first, subscribed.operator);
      await refused(subscribed, 2);
    });

    it('sends no more notifications of a bulk job after its abort, even if a delivery loop finds due notifications later', async () => {
      const hold = holdAny(both(), 'handed over');
      const id = await resend();
      await hold.reached;
      // When a bulk job is aborted, its claimed notifications are taken away from the worker that claimed them. A later
      // sweep may find the same notifications.
      await jobs.steer(id, 'abort');
      const { sent } = await jobs.get(id);
      hold.release();
      await pause(1_200);
      expect(await jobs.get(id)).toMatchObject({ state: 'ABORTED', sent });
      expect(subscribed.partner.requests).toHaveLength(sent as number);
      expect(await subscribed.queue('&retry=MANUAL')).toHaveLength(2 - sent);
    });

    it.each(['pause', 'abort'] as const)(
      'sends none of a bulk job’s notifications after the "%s" action, even if a process has claimed some of them',
      async (action) => {
        const hold = holdAny(both(), 'claimed');
        const id = await resend();
        await eventually(async () => expect(await leased()).toHaveLength(1));
        await jobs.steer(id, action);
        hold.release();
        await eventually(async () => expect(await owed()).toHaveLength(0));
        expect(subscribed.partner.requests).toHaveLength(0);
        expect(await jobs.get(id)).toMatchObject({ sent: 0, waiting: 2 });
        expect(await subscribed.queue('&retry=MANUAL&http_status=400')).toHaveLength(2);
        if (action === 'abort') return;
        await jobs.steer(id, 'resume');
        await jobs.having(id, { state: 'DONE', sent: 2, delivered: 2 });
      },
    );
  });
});
