import pg from 'pg';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { Subscribed } from '../support/subscribed';

let app: TestApp;
let subscribed: Subscribed;
let holder: pg.Client;

beforeAll(async () => {
  app = await startApp();
  subscribed = await Subscribed.start(app, { record_changes: ['CREATED'] });
  holder = new pg.Client({ connectionString: app.databaseUrl });
  await holder.connect();
});
afterAll(async () => {
  await holder.end();
  await subscribed.stop();
  await app.close();
});

const waiting = async (query: string) =>
  (
    await holder.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE $1`,
      [query],
    )
  ).rowCount;

test('an erasure also removes the candidate from a notification that is being created at the same time', async () => {
  const { scene } = subscribed;
  // After the translation has read the event of the record, it waits for the lock that the test takes here.
  await holder.query(`
    CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NEW; END $$;
    CREATE TRIGGER wait BEFORE INSERT ON notifications FOR EACH ROW EXECUTE FUNCTION wait();
    SELECT pg_advisory_lock(1)`);
  const record = await app.given.eligibility(scene);
  const { candidate_id } = record['candidate'] as { candidate_id: string };
  await eventually(async () => expect(await waiting('WITH open AS%')).toBe(1));
  const path = `accounts/${scene.account}/candidates/${candidate_id}/erase`;
  const erased = await subscribed.admin('POST', path, { reason: 'asked for' });
  expect(erased.status).toBe(202);
  await eventually(async () => expect(await waiting('UPDATE domain_events%')).toBe(1), 20_000);
  await holder.query('SELECT pg_advisory_unlock(1)');
  await eventually(async () => {
    const job = await subscribed.get(`/admin/jobs/${erased.body.job_id}`);
    expect(job.body).toMatchObject({ state: 'DONE' });
  }, 20_000);
  const bodies = await app.given.sql(
    `SELECT body FROM notifications WHERE booking_code = $1
     UNION ALL SELECT data::text FROM domain_events WHERE stream = $1`,
    [record['svc_eligiblity_id']],
  );
  expect(bodies.length).toBeGreaterThanOrEqual(2);
  expect(JSON.stringify(bodies)).not.toContain(candidate_id);
});

test.each(['FIRST', 'REPLAY'])(
  "the text of a partner's response is not stored if the candidate was erased after the request: %s",
  async (trigger) => {
    const { scene, partner } = subscribed;
    partner.answer({ status: 200 });
    const held = () => {
      let answer = () => {};
      const gate = new Promise<void>((resolve) => (answer = resolve));
      const before = partner.requests.length;
      partner.answer(async () => {
        await gate;
        return { status: 400, body: 'no Wilhelmina' };
      });
      return { answer: () => answer(), isAsked: () => expect(partner.requests.length).toBe(before + 1) };
    };
    const create = () => app.given.eligibility(scene, { candidate: { first_name: 'Wilhelmina' } });
    let request = held();
    if (trigger === 'REPLAY') partner.answer({ status: 200 });
    const record = await create();
    let stream = record['svc_eligiblity_id'] as string;
    if (trigger === 'REPLAY') {
      stream = (await app.given.booking(scene, record))['booking_code'] as string;
      await subscribed.cancel(stream);
      const delivered = `&state=DELIVERED&booking_code=${stream}`;
      await eventually(async () => expect(await subscribed.notifications(delivered)).toHaveLength(2));
      request = held();
      const filter = { booking_code: stream, change_reason: 'BOOKING_CANCELLED' };
      const body = { subscription_id: subscribed.id, filter, reason: 'asked for' };
      expect((await subscribed.admin('POST', 'notifications/replay', body)).status).toBe(202);
    }
    await eventually(() => Promise.resolve(request.isAsked()));
    const { candidate_id } = record['candidate'] as { candidate_id: string };
    const path = `accounts/${scene.account}/candidates/${candidate_id}/erase`;
    const erased = await subscribed.admin('POST', path, { reason: 'asked for' });
    await eventually(async () => {
      const job = await subscribed.get(`/admin/jobs/${erased.body.job_id}`);
      expect(job.body).toMatchObject({ state: 'DONE' });
    }, 20_000);
    request.answer();
    const attempts = await eventually(async () => {
      const rows = await app.given.sql(
        `SELECT a.trigger, a.http_status, a.excerpt FROM notification_attempts a JOIN notifications n ON n.position = a.notification_position
         WHERE n.booking_code = $1 AND a.http_status = 400`,
        [stream],
      );
      expect(rows).toHaveLength(1);
      return rows;
    });
    expect(attempts).toEqual([{ trigger, http_status: 400, excerpt: null }]);
  },
);
