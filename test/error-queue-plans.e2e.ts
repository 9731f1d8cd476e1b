import { startApp, type TestApp } from './support/app';
import { eventually } from './support/eventually';
import { pagesOf, rowsOf } from './support/plans';
import { queueMany } from './support/queued';
import { whatIsAsked } from './support/statements';
import { Subscribed } from './support/subscribed';

let app: TestApp;
let subscribed: Subscribed;

beforeAll(async () => {
  app = await startApp();
  subscribed = await Subscribed.start(app);
});
afterAll(async () => {
  await subscribed.stop();
  await app.close();
});

/**
 * Two indexes begin with what makes a cause, of which the one with exams is the smaller where many have the same exam: at
 * these numbers it has a level less, and so costs the planner less, whatever has to be sorted after it.
 */
test.each([30_000, 60_000])(
  'the summary looks at the ends of a cause alone, of so many queued: %d more',
  async (more) => {
    await queueMany(subscribed, more);
    // The changes of its count are summed up by a sweep.
    await eventually(async () => expect(await app.given.sql('SELECT FROM error_queue_causes')).toHaveLength(1), 30_000);
    await app.given.sql('VACUUM ANALYZE notifications');
    const { done, asked } = await whatIsAsked(app, () => subscribed.get('/admin/error-queue/summary'));
    const [{ text }] = asked.find(([{ name }]) => name === 'error-queue-summary')!;
    expect(done.body).toMatchObject([{ next_booking_on: '2031-01-01T10:00:00Z', failure: 'client_error' }]);
    const client = await app.database.pool.connect();
    const { lookedAt } = await rowsOf(client, text.replaceAll('$1', 'NULL'));
    client.release();
    expect(lookedAt).toBeLessThan(1_000);
  },
  60_000,
);

test('the bookings that wait for a partner are counted from an index', async () => {
  await app.given.sql('VACUUM ANALYZE notifications');
  const { done, asked } = await whatIsAsked(app, () =>
    subscribed.get(`/admin/subscriptions/${subscribed.id}/statistics`),
  );
  const [{ text }] = asked.find(([{ name }]) => name === 'statistics-undelivered')!;
  const [{ count, pages }] = await app.given.sql(
    `SELECT count(DISTINCT booking_code)::int AS count, pg_relation_size('notifications') / 8192 AS pages FROM notifications`,
  );
  expect(done.body).toMatchObject({ bookings_waiting: count });
  const client = await app.database.pool.connect();
  const read = await pagesOf(client, text.replaceAll('$1', `'${subscribed.id}'`));
  client.release();
  expect(read).toBeLessThan((pages as number) / 4);
});
