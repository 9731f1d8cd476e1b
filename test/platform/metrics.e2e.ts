import { Metrics } from '../../src/platform/observability/metrics';
import { UndeliveredFigures } from '../../src/notifications/delivery/undelivered-figures';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { dateTime } from '../support/given';
import { Subscribed } from '../support/subscribed';

const metricsOf = (app: TestApp) => app.app.get(Metrics).registry.metrics();
const namesIn = (text: string) => [...text.matchAll(/^# TYPE (\S+) (\w+)/gm)].map(([, name, type]) => ({ name, type }));

describe('§14 the metrics of delivery', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  it('the metrics count each undelivered notification once, by the time until its exam, and measure attempts per partner', async () => {
    const subscribed = await Subscribed.start(app);
    const minutes = (n: number) => ({ booking_on: dateTime(Date.now() + n * 60_000) });
    await subscribed.booking(minutes(60));
    await subscribed.partner.received(1);
    subscribed.partner.answer(() => ({ status: 404 }));
    const bookings = [-60, 60, 61, 5 * 60, 3 * 24 * 60, 20 * 24 * 60].map(minutes);
    for (const booking of bookings) await subscribed.booking(booking);
    await subscribed.partner.received(7);
    await eventually(async () => {
      await app.app.get(UndeliveredFigures).count();
      const text = await metricsOf(app);
      const counts = [...text.matchAll(/^notifications_undelivered\{exam_in="(\w+)"\} (\d+)$/gm)].map((m) =>
        m.slice(1),
      );
      expect(Object.fromEntries(counts)).toEqual({ past: '1', '2h': '2', '24h': '1', '7d': '1', later: '1' });
      const attempts = `notification_attempt_duration_seconds_count{partner="${subscribed.id}",outcome=`;
      expect(text).toContain(`${attempts}"delivered"} 1`);
      expect(text).toContain(`${attempts}"client_error"} 6`);
    });
    expect(await metricsOf(app)).toMatch(/^notification_oldest_undelivered_seconds \d/m);
  });
});

describe('§14 the metrics of a process', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  it('the metrics measure for each database connection pool how long requests wait for a connection', async () => {
    const acquired = async (pool: string) =>
      Number(
        new RegExp(`^database_pool_acquisition_seconds_count\\{pool="${pool}"\\} (\\d+)$`, 'm').exec(
          await metricsOf(app),
        )?.[1] ?? 0,
      );
    const scene = await app.given.scene();
    const [statements, units] = [await acquired('statements'), await acquired('units_of_work')];
    const eligibility = await app.given.eligibility(scene);
    expect(await acquired('statements')).toBeGreaterThan(statements);
    await app.given.booking(scene, eligibility);
    expect(await acquired('units_of_work')).toBeGreaterThan(units);
  });

  it('the metrics count each HTTP request by route pattern, method and status class, never by its path', async () => {
    await app.call('GET', '/health/live');
    await app.call('GET', '/accounts/ACCOUNT/candidates/ada-0001');
    await fetch(`${app.url}/nowhere/at/all`);
    await fetch(`${app.url}/nowhere/either`, { method: 'PROPFIND' });
    const text = await metricsOf(app);
    expect(text).toMatch(
      /^http_request_duration_seconds_count\{method="GET",route="\/health\/live",status="2xx"\} 1$/m,
    );
    expect(text).toMatch(
      /^http_request_duration_seconds_count\{method="GET",route="\/accounts\/:account_code\/candidates\/:candidate_id",status="4xx"\} 1$/m,
    );
    expect(text).toMatch(/^http_request_duration_seconds_count\{method="any",route="none",status="4xx"\} 2$/m);
    expect(text).toMatch(/^http_requests_in_flight 0$/m);
    expect(text).not.toMatch(/ada-0001|nowhere|ACCOUNT/);
  });

  it('the metrics show the connection pools and the running version', async () => {
    const text = await metricsOf(app);
    for (const pool of ['statements', 'units_of_work'])
      expect(text).toMatch(new RegExp(`^database_pool_waiting\\{pool="${pool}"\\} 0$`, 'm'));
    expect(text).toMatch(/^build_info\{version="\d+\.\d+\.\d+[^"]*",node="v\d+[^"]*",roles="api,delivery"\} 1$/m);
  });

  it('the metrics have names and types that Prometheus accepts', async () => {
    const named = namesIn(await metricsOf(app));
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter(({ name, type }) => name.endsWith('_total') !== (type === 'counter'))).toEqual([]);
  });

  it.each([
    ['api', /^http_/, /^notification|^domain_events/],
    ['delivery', /^notification/, /^http_/],
  ])('a process with the %s role exports only the metrics of that role', async (role, has, hasNot) => {
    const other = await startApp({ databaseUrl: app.databaseUrl, env: { ROLES: role } });
    const names = namesIn(await metricsOf(other)).map(({ name }) => name);
    await other.close();
    expect(names.some((name) => has.test(name))).toBe(true);
    expect(names.filter((name) => hasNot.test(name))).toEqual([]);
  });
});
