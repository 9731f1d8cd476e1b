import { Metrics } from '../src/platform/observability/metrics';
import { startApp, type TestApp } from './support/app';

const metricsOf = (app: TestApp) => app.app.get(Metrics).registry.metrics();
const namesIn = (text: string) => [...text.matchAll(/^# TYPE (\S+) (\w+)/gm)].map(([, name, type]) => ({ name, type }));

describe('§14 the metrics of a process', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await startApp();
  });
  afterAll(() => app.close());

  it('time each request by route pattern, method and class of status, and never by its path', async () => {
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

  it('tell of the pools of connections and of what runs', async () => {
    const text = await metricsOf(app);
    for (const pool of ['statements', 'units_of_work'])
      expect(text).toMatch(new RegExp(`^database_pool_waiting\\{pool="${pool}"\\} 0$`, 'm'));
    expect(text).toMatch(/^build_info\{version="\d+\.\d+\.\d+[^"]*",node="v\d+[^"]*",roles="api,delivery"\} 1$/m);
  });

  it('have names that Prometheus takes for what they are', async () => {
    const named = namesIn(await metricsOf(app));
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter(({ name, type }) => name.endsWith('_total') !== (type === 'counter'))).toEqual([]);
  });

  it.each([
    ['api', /^http_/, /^notification|^domain_events/],
    ['delivery', /^notification/, /^http_/],
  ])('of a process with the role %s alone are those of that role', async (role, has, hasNot) => {
    const other = await startApp({ databaseUrl: app.databaseUrl, env: { ROLES: role } });
    const names = namesIn(await metricsOf(other)).map(({ name }) => name);
    await other.close();
    expect(names.some((name) => has.test(name))).toBe(true);
    expect(names.filter((name) => hasNot.test(name))).toEqual([]);
  });
});
