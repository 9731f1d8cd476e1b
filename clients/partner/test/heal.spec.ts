import { heal, PartnerApi, PartnerApiError, type KeptNotification } from '../src/index';
import { StubService } from './stub-service';

const FROM_S = Date.parse('2026-11-01T00:00:00Z') / 1000;
const DAY_S = 86_400;
const MONTH = { from: '2026-11-01T00:00:00Z', to: '2026-12-01T00:00:00Z' };

let service: StubService;
let api: PartnerApi;

beforeEach(async () => {
  service = new StubService();
  const baseUrl = await service.start();
  api = new PartnerApi({ baseUrl, consumerKey: 'key', consumerSecret: 'secret', subscriptionId: 'subscription' });
});

afterEach(() => service.stop());

/** Returns a store that contains the given notifications. */
const storeOf = (all: readonly KeptNotification[]) => ({
  kept: (fromS: number, toS: number) => Promise.resolve(all.filter(({ atS }) => atS >= fromS && atS < toS)),
});

describe('heal', () => {
  it('heal finds ten missing notifications among 50,000 with at most 200 calls, and replays exactly these ten', async () => {
    for (let number = 0; number < 50_000; number += 1) service.add(FROM_S + Math.floor((number * 30 * DAY_S) / 50_000));
    const missing = new Set(Array.from({ length: 10 }, (_value, index) => service.delivered[index * 4999 + 7].id));
    const result = await heal(api, storeOf(service.delivered.filter(({ id }) => !missing.has(id))), MONTH);
    expect(new Set(result.missing)).toEqual(missing);
    expect(result.missing).toHaveLength(10);
    expect(new Set(service.replayed)).toEqual(missing);
    expect(result.calls).toBeLessThanOrEqual(200);
    expect(await heal(api, storeOf(service.delivered), MONTH)).toEqual({ missing: [], jobs: [], calls: 1 });
  });

  it('heal requests no replay when the partner has more notifications than the service delivered', async () => {
    for (let second = 0; second < 10; second += 1) service.add(FROM_S + second);
    const own = [...service.delivered];
    service.delivered.splice(3, 1);
    service.delivered.splice(8, 1);
    expect((await heal(api, storeOf(own), MONTH)).missing).toEqual([]);
    expect(service.replayed).toEqual([]);
  });

  it('heal requests no replay of a notification that reaches the partner while heal reads the list of notifications', async () => {
    const late = service.add(FROM_S + 5);
    const listed = () => service.requests.some((request) => request.startsWith('/v1/partner/notifications?'));
    const store = { kept: () => Promise.resolve(listed() ? [late] : []) };
    expect((await heal(api, store, MONTH)).missing).toEqual([]);
  });

  it('heal finds a missing notification even if the list has several pages for the same second', async () => {
    for (let number = 0; number < 450; number += 1) service.add(FROM_S + 5);
    const [first, ...others] = service.delivered;
    expect((await heal(api, storeOf(others), MONTH)).missing).toEqual([first.id]);
  });

  it('heal finds a missing notification that the service created long after its event', async () => {
    const late = service.add(FROM_S + 5, FROM_S + 2 * 3600);
    service.add(FROM_S + 6);
    expect((await heal(api, storeOf(service.delivered.slice(1)), MONTH)).missing).toEqual([late.id]);
  });

  it('for a period shorter than an hour, heal compares notifications second by second', async () => {
    const one = service.add(FROM_S + 59);
    const result = await heal(api, storeOf([]), { from: '2026-11-01T00:00:50Z', to: '2026-11-01T00:01:00Z' });
    expect(result.missing).toEqual([one.id]);
    expect(service.requests[0]).toContain('step_s=1');
  });

  it('heal starts several jobs to replay more than a thousand missing notifications', async () => {
    for (let number = 0; number < 1500; number += 1) service.add(FROM_S + number);
    const { missing, jobs } = await heal(api, storeOf([]), MONTH);
    expect([missing.length, jobs.length]).toEqual([1500, 2]);
    expect(new Set(service.replayed).size).toBe(1500);
  });

  it('heal obtains a new token when the service answers 401, and continues', async () => {
    for (let day = 0; day < 5; day += 1) service.add(FROM_S + day * DAY_S);
    service.validFor = 2;
    expect((await heal(api, storeOf([]), MONTH)).missing).toHaveLength(5);
    expect(service.tokens).toBeGreaterThan(2);
  });

  it('heal throws a PartnerApiError with the status and code of an unsuccessful response', async () => {
    service.validFor = 0;
    const failing = heal(api, storeOf([]), MONTH);
    await expect(failing).rejects.toBeInstanceOf(PartnerApiError);
    await expect(failing).rejects.toMatchObject({ status: 401, code: 'unauthorized' });
  });
});
