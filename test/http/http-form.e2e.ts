import { monitorEventLoopDelay } from 'node:perf_hooks';
import { BodyPace } from '../../src/platform/overload/body-pace';
import { startApp, type TestApp } from '../support/app';

/** Tests the rules for the form of a request, which apply to all routes. */
let app: TestApp;
let scene: Awaited<ReturnType<TestApp['given']['scene']>>;
let operator: string;

beforeAll(async () => {
  app = await startApp();
  scene = await app.given.scene();
  operator = await app.given.operator();
});
afterAll(() => app.close());

const create = (body: unknown) =>
  app.call('POST', `/accounts/${scene.account}/candidates`, { token: scene.token, body });
const told = (faults: { pointer?: string; parameter?: string; code: string }[]) =>
  faults.map(({ pointer, parameter, code }) => `${parameter ?? pointer} ${code}`);

describe('§2 a query parameter that the route does not have', () => {
  it.each([
    ['GET', () => `/accounts/${scene.account}/eligibilities?statsu=active`],
    ['GET', () => `/accounts/${scene.account}/candidates/C-1?x=1`],
    ['DELETE', () => `/accounts/${scene.account}/candidates/C-1/tests/T-1?force=true`],
    ['POST', () => `/accounts/${scene.account}/candidates?dry=1`],
    ['PUT', () => `/accounts/${scene.account}?x=1`],
    ['GET', () => '/admin/accounts?limt=5'],
    ['GET', () => '/admin/error-queue?acount_code=X'],
    ['GET', () => '/ADMIN/Error-Queue?acount_code=X'],
    ['GET', () => `/Accounts/${scene.account}/eligibilities?statsu=active`],
    ['POST', () => '/admin/error-queue/resend?dry_run=true'],
    ['GET', () => '/admin/audit?acter=x'],
    ['GET', () => '/admin/subscriptions?acount_code=x'],
    ['GET', () => '/admin/unmatched-results?x=1'],
  ])('refuses a %s request with an unknown query parameter (case %#)', async (method, path) => {
    const token = /^\/admin\//i.test(path()) ? operator : scene.token;
    const answer = await app.call(method, path(), {
      token,
      body: method === 'GET' || method === 'DELETE' ? undefined : {},
    });
    expect([answer.status, answer.body.code]).toEqual([400, 'validation_error']);
    const parameter = /\?(\w+)=/.exec(path())![1];
    expect(told(answer.body.errors)).toContain(`${parameter} unknown_parameter`);
  });

  it('suggests the nearest known name for an unknown query parameter', async () => {
    const { body } = await app.call('GET', '/admin/error-queue?acount_code=X&limit=0', { token: operator });
    expect(body.errors).toEqual([
      {
        parameter: 'acount_code',
        code: 'unknown_parameter',
        detail: 'There is no such parameter. Did you mean "account_code"?',
      },
      expect.objectContaining({ parameter: 'limit', code: 'limit_invalid' }),
    ]);
  });

  it('ignores unknown query parameters on public routes', async () => {
    for (const path of ['/health/live?x=1', '/problems?x=1', '/.well-known/jwks.json?x=1'])
      expect([path, (await app.call('GET', path)).status]).toEqual([path, 200]);
  });
});

describe('§2 the faults of a request', () => {
  it('reports all faults in the path, the query and the body of a request at once', async () => {
    const answer = await app.call('PUT', `/accounts/${scene.account}/candidates/%20x/tests/a_b?x=1`, {
      token: scene.token,
      body: { test_cod: 'T' },
    });
    expect(told(answer.body.errors)).toEqual([
      'candidate_id candidate_id_invalid',
      'test_code test_code_invalid',
      'x unknown_parameter',
      '/test_cod unknown_field',
      '/candidate required',
      '/test_code required',
    ]);
  });

  it('reports at most a hundred faults of a request, followed by a note that there are more', async () => {
    const body = Object.fromEntries(Array.from({ length: 101 }, (_, at) => [`m${at}`, at]));
    const { errors } = (await create(body)).body;
    expect(errors).toHaveLength(101);
    expect(told(errors.slice(98))).toEqual(['/m98 unknown_field', '/m99 unknown_field', ' too_many_faults']);
  });

  it.each(['.', '..'])('reports the candidate_id %s as a fault', async (candidate_id) => {
    const body = app.given.eligibilityBody(scene.testCode);
    const { errors } = (await create({ ...body, candidate: { ...body.candidate, candidate_id } })).body;
    expect(told(errors)).toEqual(['/candidate/candidate_id candidate_id_invalid']);
  });

  it.each(['USA', 'U', '', 'XX', 'u\u0130', 'ſs', 'U S'])(
    'reports only country_invalid for the country %j',
    async (country) => {
      const body = app.given.eligibilityBody(scene.testCode);
      const { errors } = (await create({ ...body, candidate: { ...body.candidate, country } })).body;
      expect(told(errors)).toEqual(['/candidate/country country_invalid']);
    },
  );

  it.each(['\u0001', '\t', '\n', '\u007f', '\u0085', '\u009f'])(
    'reports the control character %j in the city of a candidate as a fault',
    async (character) => {
      const body = app.given.eligibilityBody(scene.testCode);
      const { errors } = (await create({ ...body, candidate: { ...body.candidate, city: `a${character}b` } })).body;
      expect(told(errors)).toEqual(['/candidate/city control_character']);
    },
  );

  it('accepts line breaks and tabs in the reason for a hold, and refuses other control characters', async () => {
    const record = await app.given.eligibility(scene);
    const hold = (reason: string) =>
      app.call('POST', `/admin/eligibilities/${record['svc_eligiblity_id']}/hold`, {
        token: operator,
        body: { reason },
      });
    expect(told((await hold('a\u0085b')).body.errors)).toEqual(['/reason control_character']);
    expect((await hold('a\r\n\tb')).status).toBe(204);
  });
});

describe('§2 the routes of operators that take no body', () => {
  it('refuses a body with members on operator routes that take no body, because the members would have no effect', async () => {
    const { body: document } = await app.call('GET', '/openapi.json');
    const routes = Object.entries(document.paths as Record<string, Record<string, { requestBody?: object }>>).flatMap(
      ([path, item]) =>
        Object.entries(item)
          .filter(([method, { requestBody }]) => !['get', 'delete'].includes(method) && requestBody === undefined)
          .map(
            ([method]) =>
              [method.toUpperCase(), path.replaceAll(/\{[^}]+\}/g, '00000000-0000-4000-8000-000000000000')] as const,
          )
          .filter(([, path]) => path.startsWith('/admin/')),
    );
    expect(routes.length).toBeGreaterThan(15);
    for (const [method, path] of routes) {
      const { status, body } = await app.call(method, path, { token: operator, body: { foo: 1 } });
      expect([method, path, status, told(body?.errors ?? [])]).toEqual([
        method,
        path,
        400,
        expect.arrayContaining(['/foo unknown_field']),
      ]);
    }
    const { body } = await app.call('POST', '/admin/eligibilities/X/release', { token: operator, body: [1] });
    expect(told(body.errors)).toContain(' type_invalid');
  });
});

describe('§2 the catalogue of errors', () => {
  it('the catalogue of errors explains fault codes, gives their remedies, and lists each code once', async () => {
    for (const code of [
      'unknown_field',
      'unknown_parameter',
      'too_many_faults',
      'voucher_expired',
      'country_invalid',
    ]) {
      const { status, body } = await app.call('GET', `/problems/${code}`);
      expect([status, body.code, body.status]).toEqual([200, code, 400]);
      expect(body.description.length).toBeGreaterThan(10);
      expect(body.remedy.length).toBeGreaterThan(5);
    }
    const { body } = await app.call('GET', '/problems');
    const codes = body.map((entry: { code: string }) => entry.code);
    expect(codes).toEqual(expect.arrayContaining(['test_unknown', 'portion_required', 'duplicate_eligibility']));
    expect(new Set(codes).size).toBe(codes.length);
  });

  it('the catalogue of errors lists the additional members of each problem', async () => {
    const members = async (code: string) => (await app.call('GET', `/problems/${code}`)).body.members;
    expect(await members('duplicate_eligibility')).toEqual(['svc_eligiblity_id']);
    expect(await members('verification_failed')).toEqual(['failure', 'reason', 'http_status', 'excerpt']);
  });

  it('serves the catalogue of errors as a page to a browser, and as JSON to programs', async () => {
    const asked = (accept: string) => app.call('GET', '/problems/voucher_expired', { headers: { accept } });
    const page = await asked('text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8');
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.headers.get('vary')).toContain('Accept');
    expect(page.text).toContain('voucher_expired');
    for (const accept of ['*/*', 'application/json', 'application/problem+json, application/json'])
      expect((await asked(accept)).body.code).toBe('voucher_expired');
    expect((await app.call('GET', '/problems', { headers: { accept: 'text/html' } })).text).toContain(
      '<h1>Problems</h1>',
    );
  });
});

describe('§2 a hostile body', () => {
  const SIZE = 250 * 1024;
  const wide = (name: (at: number) => string): string => {
    const members: string[] = [];
    for (let size = 0, at = 0; size < SIZE; at++) size += members[members.push(`"${name(at)}":1`) - 1].length + 1;
    return `{${members.join()}}`;
  };

  const HOSTILE: [string, string][] = [
    ['of unknown members', wide((at) => `m${at}`)],
    ['of unknown members that are almost known', wide((at) => `eligibility_end_dat${at}`)],
    ['of long unknown names', wide((at) => `${'n'.repeat(60)}${at}`)],
    ['of unknown members of the candidate', `{"candidate":${wide((at) => `c${at}`)}}`],
    ['of entries of a list of objects', `{"candidate":{"additional_attributes":[${Array(60_000).fill('{}').join()}]}}`],
    ['of entries of a list of texts', `{"voucher_codes":[${Array(90_000).fill('1').join()}]}`],
    ['of a member without effect', `{"status":[${Array(25_000).fill('"\\u0001"').join()}]}`],
    ['of slashes and tildes in names', wide((at) => `${'~/'.repeat(40)}${at}`)],
    ['of one long text for a pattern', JSON.stringify({ candidate: { email: `${'a@'.repeat(SIZE / 2)}` } })],
  ];

  /**
   * Measures, in several runs, the longest time for which the event loop is blocked. Returns the shortest of these
   * times, because other programs on the machine can lengthen a run.
   */
  async function longestDelay(body: string): Promise<number> {
    const longest: number[] = [];
    for (let time = 0; time < 4; time++) {
      const delay = monitorEventLoopDelay({ resolution: 1 });
      delay.enable();
      expect((await create(body)).status).toBe(400);
      delay.disable();
      longest.push(delay.max);
    }
    return Math.min(...longest);
  }

  /** Returns the time, in nanoseconds, that JSON.parse needs for the body on this machine. */
  function ownTime(body: string): number {
    const times = Array.from({ length: 4 }, () => {
      const begun = process.hrtime.bigint();
      JSON.parse(body);
      return Number(process.hrtime.bigint() - begun);
    });
    return Math.max(...times, 2e6);
  }

  // Disables the pauses that the service makes between large bodies from one caller, because this test sends all bodies
  // as one caller.
  beforeAll(() => void jest.spyOn(app.app.get(BodyPace), 'charge').mockReturnValue(undefined));
  afterAll(() => void jest.restoreAllMocks());

  it.each(HOSTILE)(
    'a hostile body (%s) blocks the event loop for less than 15 times as long as JSON.parse alone',
    async (_name, body) => {
      expect(body.length).toBeLessThanOrEqual(256 * 1024);
      expect((await longestDelay(body)) / ownTime(body)).toBeLessThan(15);
    },
  );
});
