import { setTimeout as pause } from 'node:timers/promises';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';

const CAUSES = 1_500;

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());

/** Returns the physical location and the transaction id of each row, both of which change when a row is rewritten. */
const rows = () => app.given.sql('SELECT ctid::text, xmin::text FROM error_queue_causes ORDER BY ctid');
const change = (times: number) =>
  app.given.sql(
    `INSERT INTO error_queue_causes
     SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, 'MANUAL', 'client_error', NULL, 400, 1
     FROM generate_series(1, ${CAUSES}) AS n, generate_series(1, ${times})`,
  );

test('while nothing changes, the upkeep of the error queue rewrites none of its counts of more than 1,000 causes', async () => {
  await change(1);
  const before = await rows();
  expect(before).toHaveLength(CAUSES);
  // Waits until the upkeep of the error queue has run several times.
  await pause(3500);
  expect(await rows()).toEqual(before);
});

test('the upkeep of the error queue merges accumulated changes into its counts, and rewrites only the counts that changed', async () => {
  await app.given.sql(
    `INSERT INTO error_queue_causes
     SELECT '00000000-0000-4000-8000-000000000001', 'MANUAL', 'client_error', NULL, 400, 1 FROM generate_series(1, 1200)`,
  );
  const before = await rows();
  await eventually(async () => expect((await rows()).length).toBeLessThan(before.length));
  expect(await rows()).toHaveLength(CAUSES);
  const [{ sum }] = await app.given.sql(
    `SELECT sum(change)::int FROM error_queue_causes WHERE subscription_id = '00000000-0000-4000-8000-000000000001'`,
  );
  expect(sum).toBe(1201);
  const kept = new Set(before.map(({ ctid, xmin }) => `${ctid} ${xmin}`));
  const written = (await rows()).filter(({ ctid, xmin }) => !kept.has(`${ctid} ${xmin}`));
  expect(written).toHaveLength(1);
});
