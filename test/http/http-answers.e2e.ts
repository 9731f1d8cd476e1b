import { startApp, type TestApp } from '../support/app';
import { rawBytes, rawCall } from '../support/raw-http';

let app: TestApp;
let scene: Awaited<ReturnType<TestApp['given']['scene']>>;

beforeAll(async () => {
  app = await startApp();
  scene = await app.given.scene();
});
afterAll(() => app.close());

const bearer = () => ({ authorization: `Bearer ${scene.token}` });
const get = (path: string, headers: Record<string, string> = {}) =>
  app.call('GET', path, { token: scene.token, headers });

/** The kinds of responses of the service, each with a request that gets a response of this kind. */
const KINDS: [string, () => Promise<{ status: number; headers: Headers; body: any }>][] = [
  ['200', () => get(`/accounts/${scene.account}/eligibilities`)],
  ['400', () => get(`/accounts/${scene.account}/eligibilities?limit=0`)],
  ['400 of a broken path', () => get(`/accounts/${scene.account}/candidates/%FF`)],
  ['401', () => app.call('GET', `/accounts/${scene.account}/candidates/x`)],
  ['403', () => get('/accounts/NOT1MINE/candidates/x')],
  ['404', () => get(`/accounts/${scene.account}/candidates/x`)],
  ['404 of an unknown route', () => get('/nowhere')],
  ['405', () => app.call('PATCH', `/accounts/${scene.account}/candidates/x`)],
  [
    '415',
    () =>
      app.call('POST', `/accounts/${scene.account}/candidates`, {
        token: scene.token,
        body: 'x',
        headers: { 'content-type': 'text/plain' },
      }),
  ],
  ['health', () => app.call('GET', '/health/live')],
  ['the token service', () => app.call('POST', '/token')],
];

/** Requests that the service cannot route, each with the status and code of its response. */
const UNREADABLE: [string, string | Buffer, number, string][] = [
  ['no request line', 'garbage\r\n\r\n', 400, 'malformed_request'],
  ['an unknown method', 'FROB / HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'malformed_request'],
  ['a tunnel', 'CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'malformed_request'],
  ['no host', 'GET /health/live HTTP/1.1\r\nConnection: close\r\n\r\n', 400, 'malformed_request'],
  ['a header without a name', 'GET / HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n', 400, 'malformed_request'],
  ['headers of 32 KiB', `GET / HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(32_768)}\r\n\r\n`, 431, 'headers_too_large'],
  ['TLS', Buffer.from('160301020001000001fc0303', 'hex'), 400, 'malformed_request'],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 'malformed_request'],
];

describe('§2 every response', () => {
  it.each(['40P01', '40001'])(
    'a request gets 503 with Retry-After, not 500, if PostgreSQL aborts each of its transactions with %s',
    async (state) => {
      await app.given.sql(
        `CREATE FUNCTION aborted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
           RAISE EXCEPTION 'planted' USING ERRCODE = '${state}'; END $$`,
      );
      await app.given.sql(
        `CREATE TRIGGER aborted BEFORE INSERT ON eligibilities FOR EACH ROW EXECUTE FUNCTION aborted()`,
      );
      const { status, headers, body } = await app.call('POST', `/accounts/${scene.account}/candidates`, {
        token: scene.token,
        body: {
          test_code: scene.testCode,
          candidate: { candidate_id: `aborted-${state}`, first_name: 'Ada', last_name: 'Lovelace' },
        },
      });
      await app.given.sql('DROP FUNCTION aborted CASCADE');
      expect([status, body.code]).toEqual([503, 'service_unavailable']);
      expect(headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    },
  );

  it.each(UNREADABLE)(
    'answers a request that it cannot route (%s) with a problem document and the usual headers',
    async (_title, bytes, status, code) => {
      const [head, text] = (await rawBytes(app.url, bytes)).split('\r\n\r\n', 2);
      expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
      const headers = new Headers(
        head
          .split('\r\n')
          .slice(1)
          .map((line) => line.split(': ', 2) as [string, string]),
      );
      expect(Object.fromEntries(headers)).toMatchObject({
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'content-type': 'application/problem+json; charset=utf-8',
        connection: 'close',
      });
      expect(JSON.parse(text)).toMatchObject({
        status,
        code,
        type: `${app.url}/problems/${code}`,
        request_id: headers.get('x-request-id'),
      });
      expect((await app.call('GET', `/problems/${code}`)).body.status).toBe(status);
    },
  );

  it('ignores an Expect header with an unknown value', async () => {
    const answer = await rawCall(app.url, 'GET', '/health/live', { headers: { expect: 'the-unexpected' } });
    expect(answer.status).toBe(200);
  });

  it('sends a complete response even when unreadable bytes follow the request', async () => {
    const whole = 'GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n';
    const texts = (await rawBytes(app.url, `${whole}garbage\r\n\r\n`)).split(/(?=HTTP\/1\.1 )/);
    for (const text of texts) {
      const [head, body] = text.split('\r\n\r\n', 2);
      expect(Number(/content-length: (\d+)/i.exec(head)?.[1])).toBe(Buffer.byteLength(body));
    }
  });

  it.each(KINDS)(
    'a response has X-Request-Id, Cache-Control: no-store, nosniff and security headers, but no X-Powered-By: %s',
    async (_kind, answer) => {
      const { headers } = await answer();
      expect(headers.get('x-request-id')).toMatch(/^[A-Za-z0-9._-]{1,64}$/);
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      for (const name of ['content-security-policy', 'referrer-policy', 'x-frame-options', 'strict-transport-security'])
        expect([name, headers.get(name)]).toEqual([name, expect.any(String)]);
      for (const name of ['x-powered-by', 'server', 'etag']) expect([name, headers.get(name)]).toEqual([name, null]);
    },
  );

  it.each(KINDS.filter(([kind]) => /^4/.test(kind)))(
    'the body of an error response is an RFC 9457 problem: %s',
    async (_kind, answer) => {
      const { status, headers, body } = await answer();
      expect(headers.get('content-type')).toMatch(/^application\/problem\+json/);
      expect(body).toMatchObject({
        type: `${app.url}/problems/${body.code}`,
        title: expect.any(String),
        status,
        detail: expect.any(String),
        instance: expect.stringMatching(/^\//),
        code: expect.stringMatching(/^[a-z0-9_]+$/),
        request_id: headers.get('x-request-id'),
      });
      const entry = await app.call('GET', new URL(body.type as string).pathname);
      expect(entry.body).toMatchObject({ code: body.code, status, title: body.title });
    },
  );

  it.each(['a', 'A-b_c.9', 'x'.repeat(64)])('the response repeats the caller’s X-Request-Id %s', async (id) => {
    expect((await get('/health/live', { 'x-request-id': id })).headers.get('x-request-id')).toBe(id);
  });

  it.each(['', 'x'.repeat(65), 'a b', 'a,b', 'é', 'a/b', '<script>'])(
    'generates a new request id if the X-Request-Id of the request is %j',
    async (id) => {
      const answer = await get('/health/live', { 'x-request-id': id });
      expect(answer.headers.get('x-request-id')).toMatch(/^[A-Za-z0-9._-]{1,64}$/);
      expect(answer.headers.get('x-request-id')).not.toBe(id);
    },
  );
});

describe('§2 problems', () => {
  it('the catalogue of errors lists problem codes with their status, and returns 404 for an unknown code', async () => {
    const { body } = await app.call('GET', '/problems');
    const codes = (body as { code: string; status: number }[]).map(({ code, status }) => `${code} ${status}`);
    for (const plain of [
      ...['unauthorized 401', 'insufficient_scope 403', 'account_forbidden 403', 'not_found 404'],
      ...['method_not_allowed 405', 'payload_too_large 413', 'unsupported_media_type 415', 'rate_limited 429'],
      ...['internal_error 500', 'service_unavailable 503', 'malformed_json 400', 'validation_error 400'],
      ...['idempotency_key_reused 422', 'idempotency_key_in_use 409', 'duplicate_eligibility 400'],
    ])
      expect(codes).toContain(plain);
    expect((await app.call('GET', '/problems/no_such_code')).status).toBe(404);
  });

  it('a problem document reveals no stack trace, SQL, file path or library name', async () => {
    for (const [, answer] of KINDS.filter(([kind]) => kind.startsWith('4'))) {
      const { body } = await answer();
      expect(JSON.stringify(body)).not.toMatch(
        /node_modules|\.ts\b|\.js:|SELECT|INSERT|typeorm|express|postgres|at Object/i,
      );
    }
  });
});

describe('§2 methods', () => {
  it.each([
    ['/accounts/{a}/candidates', 'POST'],
    ['/accounts/{a}/candidates/x', 'GET, HEAD'],
    ['/accounts/{a}/candidates/x/tests/T', 'DELETE, GET, HEAD, PUT'],
    ['/accounts/{a}/candidates/x/tests/T/vouchers', 'GET, HEAD, PUT'],
    ['/accounts/{a}/candidates/x/eligibilities', 'GET, HEAD'],
    ['/accounts/{a}/candidates/x/tests/T/bookings', 'POST'],
    ['/accounts/{a}/bookings/B', 'DELETE, GET, HEAD, PUT'],
    ['/accounts/{a}/bookings/B/absence', 'POST'],
    ['/eligibilities/ABCDEFGH/testLaunchInfo', 'GET, HEAD'],
    ['/openapi.json', 'GET, HEAD'],
    ['/health/ready', 'GET, HEAD'],
    ['/', 'GET, HEAD'],
  ])(
    'the route %s accepts the methods %s, and returns 405 with Allow for every other method',
    async (template, allow) => {
      const path = template.replace('{a}', scene.account);
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND']) {
        if (allow.split(', ').includes(method)) continue;
        const answer = await rawCall(app.url, method, path, { headers: bearer() });
        expect([method, answer.status, answer.headers.allow]).toEqual([method, 405, allow]);
        expect(JSON.parse(answer.text)).toMatchObject({ status: 405, code: 'method_not_allowed' });
      }
    },
  );

  it('an unknown route returns 404 for every method, with or without a token', async () => {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'])
      for (const path of ['/nowhere', '/accounts', `/accounts/${scene.account}/candidates/x/tests/T/nothing`]) {
        const answer = await rawCall(app.url, method, path);
        expect([method, path, answer.status, JSON.parse(answer.text).code]).toEqual([method, path, 404, 'not_found']);
      }
  });

  it('a process without the api role serves only its health routes, whatever the letter case of the path', async () => {
    const other = await startApp({ databaseUrl: app.databaseUrl, env: { ROLES: 'delivery' } });
    try {
      for (const [path, status] of [
        ['/health/live', 200],
        ['/HEALTH/Live', 200],
        ['/problems', 404],
        ['/', 404],
      ])
        expect([path, (await fetch(`${other.url}${path}`)).status]).toEqual([path, status]);
    } finally {
      await other.close();
    }
  });

  it('HEAD returns the status and headers of GET, without a body', async () => {
    const path = `/accounts/${scene.account}/eligibilities`;
    const [head, plain] = [await rawCall(app.url, 'HEAD', path, { headers: bearer() }), await get(path)];
    expect([head.status, head.text, head.headers['content-length']]).toEqual([
      200,
      '',
      plain.headers.get('content-length'),
    ]);
    expect((await rawCall(app.url, 'HEAD', path)).status).toBe(401);
  });
});

describe('§2 unusual paths', () => {
  it.each([
    ['%FF', 400],
    ['%', 400],
    ['%zz', 400],
    ['%C3%28', 400],
    ['%ED%A0%80', 400],
    ['%00', 400],
    ['%2F', 400],
    ['..%2F..%2Fadmin', 400],
    ['%252F', 404],
    ['x;y=1', 404],
    ['x%3Fstatus=all', 404],
    ['%F0%9F%98%80', 404],
    ['.%2e', 404],
  ])('a request for candidates/%s is answered with %i', async (segment, status) => {
    const answer = await rawCall(app.url, 'GET', `/accounts/${scene.account}/candidates/${segment}`, {
      headers: bearer(),
    });
    expect([answer.status, JSON.parse(answer.text).status]).toEqual([status, status]);
  });

  it.each(['%FF', '%00', '%2F', '..', 'x'.repeat(3000), '%E2%80%8F', '__proto__', 'constructor'])(
    'a request with the unusual account code %s gets 400, 403 or 404',
    async (segment) => {
      const answer = await rawCall(app.url, 'GET', `/accounts/${segment}/eligibilities`, { headers: bearer() });
      expect([400, 403, 404]).toContain(answer.status);
    },
  );

  it('malformed and unusual HTTP requests get no 5xx response, and the service keeps running', async () => {
    for (const bytes of [
      'GET / HTTP/1.1\r\n\r\n',
      'NONSENSE\r\n\r\n',
      'GET /\u0000 HTTP/1.1\r\nHost: x\r\n\r\n',
      `GET / HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(40_000)}\r\n\r\n`,
      'POST /token HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      `POST /accounts/${scene.account}/candidates HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${scene.token}\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"a"`,
      'GET //evil.example/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
      'GET http://evil.example/health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
    ])
      expect((await rawBytes(app.url, bytes)).startsWith('HTTP/1.1 5')).toBe(false);
    expect((await app.call('GET', '/health/live')).status).toBe(200);
  });
});

describe('an ambiguous request', () => {
  const head = (...lines: string[]) => `${lines.join('\r\n')}\r\n\r\n`;
  const path = () => `/accounts/${scene.account}/eligibilities`;
  const mine = () => `Authorization: Bearer ${scene.token}`;

  it.each([
    ['two tokens', () => [mine(), 'authorization: Bearer x']],
    ['two hosts', () => [mine(), 'host: elsewhere']],
    ['two types', () => [mine(), 'Content-Type: application/json', 'Content-Type: text/plain']],
    ['a transfer coding before chunked', () => [mine(), 'Transfer-Encoding: x, chunked']],
    ['chunked twice', () => [mine(), 'Transfer-Encoding: chunked', 'Transfer-Encoding: chunked']],
  ])('returns 400 for an ambiguous request and closes its connection: %s', async (_title, headers) => {
    const first = head(`GET ${path()} HTTP/1.1`, 'Host: localhost', ...headers());
    const answer = await rawBytes(app.url, `${first}${head('GET /health/live HTTP/1.1', 'Host: localhost')}`);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toMatch(/\r\nConnection: close\r\n/);
    expect(answer.split('HTTP/1.1 ')).toHaveLength(2);
  });

  it('accepts a request with a repeated header if HTTP allows that header to be repeated', async () => {
    const headers = { authorization: `Bearer ${scene.token}`, accept: ['a/b', 'application/json'] };
    expect((await rawCall(app.url, 'GET', path(), { headers })).status).toBe(200);
  });
});

describe('§2 the RateLimit headers', () => {
  it('sends the RateLimit headers on every response, with or without a token', async () => {
    const limited = await startApp({
      env: { RATE_LIMIT_PER_MINUTE: '6000', TOKEN_RATE_LIMIT_PER_MINUTE: '60' },
      databaseUrl: app.databaseUrl,
    });
    try {
      const { token } = scene;
      const account = `/accounts/${scene.account}`;
      for (const [method, path, options] of [
        ['GET', `${account}/eligibilities`, { token }],
        ['GET', `${account}/eligibilities`, {}],
        ['GET', `${account}/eligibilities`, { token: 'x' }],
        ['GET', '/admin/users', { token }],
        ['POST', `${account}/candidates`, { token, body: {} }],
        ['PATCH', `${account}/candidates`, { token }],
        ['GET', '/nowhere', {}],
        ['GET', '/nowhere', { token }],
        ['GET', '/health/live', {}],
        ['GET', '/openapi.json', {}],
        ['GET', '/problems/not_found', {}],
        ['GET', '/console', {}],
        ['GET', '/docs', {}],
        ['GET', '/.well-known/jwks.json', {}],
        ['GET', `/launch/${'x'.repeat(43)}`, {}],
        ['POST', '/token', {}],
        ['POST', '/revoke', {}],
        ['POST', '/introspect', { headers: { authorization: 'Basic eDp5' } }],
      ] as const) {
        const { headers } = await limited.call(method, path, options);
        expect([path, headers.get('ratelimit-policy'), headers.get('ratelimit')]).toEqual([
          path,
          expect.stringMatching(/^"(default|public|token)";q=\d+;w=60$/),
          expect.stringMatching(/^"(default|public|token)";r=\d+;t=\d+$/),
        ]);
      }
    } finally {
      await limited.close();
    }
  });

  it('the RateLimit header shows the remaining quota of each user, and a 429 response also has Retry-After', async () => {
    const limited = await startApp({ env: { RATE_LIMIT_PER_MINUTE: '5' }, databaseUrl: app.databaseUrl });
    try {
      // Waits for a new minute if the current one is about to end, because each minute has its own quota.
      const left = 60_000 - (Date.now() % 60_000);
      if (left < 5000) await new Promise((resolve) => setTimeout(resolve, left + 50));
      const token = await app.given.token([scene.account]);
      const path = `/accounts/${scene.account}/eligibilities`;
      for (let used = 1; used <= 5; used++) {
        const answer = await limited.call('GET', used === 2 ? `${path}?limit=0` : path, { token });
        expect([answer.headers.get('ratelimit-policy'), answer.headers.get('ratelimit')]).toEqual([
          '"default";q=5;w=60',
          expect.stringMatching(new RegExp(`^"default";r=${5 - used};t=\\d+$`)),
        ]);
      }
      const over = await limited.call('GET', path, { token });
      expect([over.status, over.body.code]).toEqual([429, 'rate_limited']);
      const seconds = Number(over.headers.get('retry-after'));
      expect(seconds >= 1 && seconds <= 60).toBe(true);
      expect((await limited.call('GET', path, { token: scene.token })).status).toBe(200);
    } finally {
      await limited.close();
    }
  });
});
