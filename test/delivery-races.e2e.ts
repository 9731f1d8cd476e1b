import { setTimeout as pause } from 'node:timers/promises';
import { startApp, type TestApp } from './support/app';
import { eventually } from './support/eventually';
import { holdAt } from './support/races';
import { Subscribed } from './support/subscribed';

const SECRETS_KEY = Buffer.alloc(32, 7).toString('base64');

/** Two processes on one database; one of them is held at a race point while the other goes on. */
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

  it('fencing: who has lost the lease while the partner answered records nothing', async () => {
    const [stale, owner] = [holdAt(first, 'attempt ended'), holdAt(second, 'attempt ended')];
    await subscribed.booking();
    await Promise.race([stale.reached, owner.reached]);
    // Whoever has it loses it, until both have sent it.
    const both = Promise.all([stale.reached, owner.reached]).then(() => true);
    while (!(await Promise.race([both, pause(300, false)]))) await lapse();
    const [id] = ids();
    expect(new Set(ids())).toEqual(new Set([id]));
    const [{ lease_token }] = await first.given.sql(
      `UPDATE deliveries SET lease_token = nextval('delivery_lease_tokens'), leased_until = clock_timestamp() + interval '1 hour'
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
});
