import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { pagesOf, rowsOf, vacuumWhole } from '../support/plans';
import { queueMany } from '../support/queued';
import { whatIsAsked } from '../support/statements';
import { Subscribed } from '../support/subscribed';

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

/** Returns the summary of the error queue, and the number of rows that its SQL statement reads. */
async function summary() {
  await eventually(async () => {
    const [{ rows, causes }] = await app.given.slowSql(
      'SELECT count(*) AS rows, count(DISTINCT subscription_id) AS causes FROM error_queue_causes',
    );
    // Waits until a sweep has merged the counts, so that the table has only one row for each cause.
    expect(rows).toBe(causes);
  }, 30_000);
  await app.given.slowSql('VACUUM ANALYZE notifications, error_queue_causes');
  const { done, asked } = await whatIsAsked(app, () => subscribed.get('/admin/error-queue/summary'));
  const [{ text }] = asked.find(([{ name }]) => name === 'error-queue-summary')!;
  const client = await app.database.pool.connect();
  const { lookedAt } = await rowsOf(client, text.replaceAll('$1', 'NULL'));
  client.release();
  return { causes: done.body as object[], lookedAt };
}

test('the summary of the error queue reads only the first and last rows of each cause, even if other partners have short queues', async () => {
  await queueMany(subscribed, 1_000);
  // Simulates the queues of 29 other partners. Their subscriptions need not exist, because the planner of PostgreSQL
  // considers only the notifications.
  await app.given.slowSql(
    `INSERT INTO notifications (event_id, subscription_id, account_code, change_reason, booking_code, event_sequence,
       effective_date, body, state, retry, failure, http_status, queued_datetime)
     SELECT gen_random_uuid(), other.id, n.account_code, n.change_reason, n.booking_code, n.event_sequence, n.effective_date,
       left(n.body, -1) || ', "location_address": "' || repeat('x', 800) || '"}', n.state, n.retry, n.failure, n.http_status, n.queued_datetime
     FROM notifications n, (SELECT gen_random_uuid() AS id FROM generate_series(1, 29)) other ORDER BY n.position`,
  );
  const { causes, lookedAt } = await summary();
  expect(causes).toMatchObject([{ next_booking_on: '2031-01-01T10:00:00Z', failure: 'client_error', count: 1_000 }]);
  expect(lookedAt).toBeLessThan(500);
  await app.given.slowSql('DELETE FROM notifications WHERE subscription_id <> $1', [subscribed.id]);
}, 60_000);

/**
 * Two indexes begin with the columns that identify a cause, and one of the two also contains the exam times. If many
 * notifications have the same exam time, the index with the exam times is the smaller one. The planner then prefers
 * this index, although PostgreSQL must sort the rows that it finds with this index.
 */
test.each([30_000, 60_000])(
  'the summary of the error queue reads only the first and last rows of each cause, even with %d more rows',
  async (more) => {
    await queueMany(subscribed, more);
    const { causes, lookedAt } = await summary();
    expect(causes).toMatchObject([{ next_booking_on: '2031-01-01T10:00:00Z', failure: 'client_error' }]);
    expect(lookedAt).toBeLessThan(1_000);
  },
  60_000,
);

test('to count the bookings that wait for a partner, the statistics read less than a quarter of the notifications table', async () => {
  await vacuumWhole((text, values) => app.given.slowSql(text, values), 'notifications');
  const { done, asked } = await whatIsAsked(app, () =>
    subscribed.get(`/admin/subscriptions/${subscribed.id}/statistics`),
  );
  const [{ text }] = asked.find(([{ name }]) => name === 'statistics-undelivered')!;
  const [{ count, pages }] = await app.given.slowSql(
    `SELECT count(DISTINCT booking_code)::int AS count, pg_relation_size('notifications') / 8192 AS pages FROM notifications`,
  );
  expect(done.body).toMatchObject({ bookings_waiting: count });
  const client = await app.database.pool.connect();
  const read = await pagesOf(client, text.replaceAll('$1', `'${subscribed.id}'`));
  client.release();
  expect(read).toBeLessThan((pages as number) / 4);
});
