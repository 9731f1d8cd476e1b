import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { GuideFiles } from '../../src/guide/guide.controller';
import { startApp, type Answer, type TestApp } from '../support/app';
import { buildGuide } from '../support/guide';

describe('/.well-known/security.txt (RFC 9116)', () => {
  it('security.txt contains the configured contact, and an expiry date within a year', async () => {
    const app = await startApp({ env: { SECURITY_CONTACT: 'mailto:security@example.org' } });
    const answer = await app.call('GET', '/.well-known/security.txt').finally(() => app.close());
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
    const fields = Object.fromEntries(
      answer.text
        .trimEnd()
        .split('\n')
        .map((line) => line.split(/: (.*)/).slice(0, 2)),
    ) as Record<string, string>;
    expect(fields).toEqual({
      Contact: 'mailto:security@example.org',
      Expires: expect.stringMatching(/^\d{4}-\d\d-\d\dT00:00:00Z$/),
      'Preferred-Languages': 'en',
      Canonical: `${app.url}/.well-known/security.txt`,
    });
    const days = (Date.parse(fields['Expires']) - Date.now()) / 86_400_000;
    expect([days > 170, days < 365]).toEqual([true, true]);
  });

  it('security.txt returns 404 if no contact is configured, and the service refuses to start with an invalid contact', async () => {
    const app = await startApp();
    expect((await app.call('GET', '/.well-known/security.txt').finally(() => app.close())).status).toBe(404);
    await expect(startApp({ env: { SECURITY_CONTACT: 'somebody' } })).rejects.toThrow(/^SECURITY_CONTACT /);
  });
});

/**
 * Tests section 2 of the contract: public documents, pages and their files have an ETag, and a quota limits the number
 * of requests from each client address.
 */
describe.each([{ basePath: '' }, { basePath: '/v1' }])('public documents under "$basePath"', ({ basePath }) => {
  let app: TestApp;

  beforeAll(async () => {
    app = await startApp({ env: { BASE_PATH: basePath } });
  });
  afterAll(() => app.close());

  const get = (path: string, headers: Record<string, string> = {}): Promise<Answer> =>
    app.call('GET', path, { headers });

  it.each([
    '/',
    '/openapi.json',
    '/openapi.yaml',
    '/docs',
    '/docs/swagger-ui-init.js',
    '/docs/swagger-ui-bundle.js',
    '/docs/swagger-ui.css',
    '/problems',
    '/problems/validation_error',
    '/console',
    '/.well-known/oauth-authorization-server',
    '/.well-known/jwks.json',
  ])('%s has an ETag, and a request with the current ETag is answered with 304 without a body', async (path) => {
    const first = await get(path);
    const tag = first.headers.get('etag')!;
    expect([first.status, tag]).toEqual([200, expect.stringMatching(/^(W\/)?"[^"]+"$/)]);
    expect([first.headers.get('cache-control'), first.headers.get('pragma')]).toEqual(['no-cache', null]);
    expect((await get(path)).headers.get('etag')).toBe(tag);
    for (const asked of [tag, `"other", ${tag}`]) {
      const again = await fetch(app.url + path, { headers: { 'if-none-match': asked } });
      expect([asked, again.status, await again.text(), again.headers.get('etag')]).toEqual([asked, 304, '', tag]);
    }
    expect((await get(path, { 'if-none-match': '"other"' })).text).toBe(first.text);
  });

  it.each(['/', '/openapi.json', '/openapi.yaml', '/docs', '/docs/swagger-ui.css', '/problems', '/console'])(
    'HEAD %s returns the same ETag as GET, for HTML and for JSON, and returns 304 for the current ETag',
    async (path) => {
      for (const accept of ['text/html', '*/*']) {
        const headers = { accept };
        const tag = (await get(path, headers)).headers.get('etag')!;
        const head = await fetch(app.url + path, { method: 'HEAD', headers });
        expect([head.status, head.headers.get('etag'), await head.text()]).toEqual([200, tag, '']);
        const again = await fetch(app.url + path, { method: 'HEAD', headers: { ...headers, 'if-none-match': tag } });
        expect([again.status, again.headers.get('etag')]).toEqual([304, tag]);
      }
    },
  );

  it('sends every response except public documents with Cache-Control: no-store', async () => {
    for (const path of ['/problems/no_such_code', '/docs/nothing.js', '/health/live', '/nowhere']) {
      const { headers } = await get(path);
      expect([path, headers.get('cache-control'), headers.get('etag')]).toEqual([path, 'no-store', null]);
    }
  });

  it('/docs serves no source maps, package files or source code', async () => {
    for (const file of [
      ...['package.json', 'README.md', 'NOTICE', 'LICENSE', 'index.js', 'absolute-path.js', 'swagger-initializer.js'],
      ...['swagger-ui.js', 'swagger-ui.js.map', 'swagger-ui-bundle.js.map', 'swagger-ui.css.map'],
      ...['swagger-ui-es-bundle.js', 'swagger-ui-bundle.js.LICENSE.txt', 'oauth2-redirect.html', 'SWAGGER-UI.JS.MAP'],
      ...['docs/package.json', '%70ackage.json', './package.json', 'x/../package.json', '/package.json'],
    ])
      expect([file, (await get(`/docs/${file}`)).status]).toEqual([file, 404]);
    expect((await get('/docs/swagger-ui-bundle.js')).text).not.toContain('sourceMappingURL');
  });
});

describe('the quota of an address on public routes', () => {
  let app: TestApp;

  beforeAll(async () => {
    app = await startApp({ env: { RATE_LIMIT_PER_MINUTE: '6000', TRUST_PROXY: '1' } });
  });
  afterAll(() => app.close());

  const from = (address: string, path: string, token?: string, headers = {}) =>
    app.call('GET', path, { token, headers: { 'x-forwarded-for': address, ...headers } });
  const left = ({ headers }: Answer) => Number(/;r=(\d+)/.exec(headers.get('ratelimit')!)![1]);

  /**
   * Sends requests to the paths in rotation until a response is 429. Returns the number of earlier responses, and the
   * response with 429. Throws an error if no response is 429 after `most` requests.
   */
  async function untilRefused(address: string, paths: string[], most: number): Promise<[number, Answer]> {
    for (let asked = 0; asked < most; asked += 60) {
      const answers = await Promise.all(Array.from({ length: 60 }, (_, at) => from(address, paths[at % paths.length])));
      const refused = answers.find(({ status }) => status === 429);
      if (refused) return [asked + answers.filter(({ status }) => status !== 429).length, refused];
    }
    throw new Error('Nobody was refused.');
  }

  /**
   * Repeats a request until the response is 429, and returns this response and its duration. The number of requests is
   * not fixed, because the quota refills in the meantime.
   */
  async function firstRefusal(ask: () => Promise<Answer>): Promise<[Answer, number]> {
    for (let asked = 0; asked < 2000; asked++) {
      const begun = performance.now();
      const answer = await ask();
      if (answer.status === 429) return [answer, performance.now() - begun];
    }
    throw new Error('Nobody was refused.');
  }

  it('returns 429 to a client address after 1200 requests a minute across public routes, but not to other addresses', async () => {
    const paths = ['/problems/not_found', '/console', '/.well-known/jwks.json', `/launch/${'x'.repeat(43)}`];
    const [answered, refused] = await untilRefused('192.0.2.1', paths, 6000);
    expect(answered).toBeGreaterThanOrEqual(1200);
    expect(refused.body).toMatchObject({ code: 'rate_limited', status: 429 });
    expect(refused.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect((await from('192.0.2.2', '/openapi.yaml')).status).toBe(200);
    expect((await from('192.0.2.1', '/health/live')).status).toBe(200);
    const token = await app.given.token([await app.given.account()]);
    expect((await from('192.0.2.1', '/nowhere', token)).status).toBe(404);
  });

  it('a longer public document uses up more of a client address’s quota, and a 304 uses at most one request', async () => {
    const small = left(await from('192.0.2.3', '/.well-known/jwks.json'));
    let begun = performance.now();
    // The quota refills by 20 units per second.
    const refilled = () => Math.ceil(((performance.now() - begun) / 1000) * 20);
    const document = await from('192.0.2.3', '/openapi.yaml');
    expect(small - left(document) + refilled()).toBeGreaterThan(document.text.length / 32_768 - 1);
    const again = await from('192.0.2.3', '/openapi.yaml', undefined, {
      'if-none-match': document.headers.get('etag')!,
    });
    expect([again.status, left(document) - left(again) <= 1]).toEqual([304, true]);
    begun = performance.now();
    const streamed = await from('192.0.2.3', '/docs/swagger-ui-bundle.js');
    expect(left(again) - left(streamed) + refilled()).toBeGreaterThan(streamed.text.length / 32_768 - 1);
  });

  it('counts refused unauthenticated requests on every route towards the quota of a client address, and delays 429 responses', async () => {
    const paths = ['/nowhere', '/accounts/NOBODY/eligibilities', '/admin/users'];
    const [answered] = await untilRefused('192.0.2.4', paths, 6000);
    expect(answered).toBeGreaterThanOrEqual(1200);
    const headers = { 'x-forwarded-for': '192.0.2.4', authorization: `Basic ${btoa('x:y')}` };
    const [refused, ms] = await firstRefusal(() => app.call('POST', '/introspect', { headers }));
    expect([refused.body.error, refused.headers.get('retry-after')]).toEqual([
      'temporarily_unavailable',
      expect.stringMatching(/^[1-9]\d*$/),
    ]);
    const [, later] = await firstRefusal(() => from('192.0.2.4', '/problems'));
    expect(Math.min(ms, later)).toBeGreaterThan(450);
    const token = await app.given.token([await app.given.account()]);
    expect((await from('192.0.2.4', '/accounts/NOBODY/eligibilities', token)).status).toBe(403);
  });
});

describe.each([{ basePath: '' }, { basePath: '/v1' }])('GET / under "$basePath"', ({ basePath }) => {
  const folder = mkdtempSync(join(tmpdir(), 'eligibility-guide-'));
  const own = GuideFiles.folder;
  beforeAll(() => {
    GuideFiles.folder = join(folder, 'guide');
    expect(buildGuide(resolve(__dirname, '../..'), GuideFiles.folder).status).toBe(0);
  });
  afterAll(() => {
    GuideFiles.folder = own;
    rmSync(folder, { recursive: true, force: true });
  });

  it('GET / serves a page to a browser and JSON to programs, with links to the public documents', async () => {
    const app = await startApp({ env: { BASE_PATH: basePath } });
    try {
      const { body } = await app.call('GET', '/');
      expect(body).toMatchObject({ version: expect.any(String), documents: `${app.url}/docs` });
      for (const address of Object.values(body as Record<string, string>).filter((text) => text.startsWith('http')))
        expect([address, (await fetch(address)).status]).toEqual([address, 200]);
      const page = await fetch(`${app.url}/`, { headers: { accept: 'text/html,*/*;q=0.8' } });
      expect(page.headers.get('content-type')).toContain('text/html');
      const links = [...(await page.text()).matchAll(/href="([^"]+)"/g)].map(([, path]) => path);
      expect(links.length).toBeGreaterThan(4);
      for (const path of links) expect([path, (await fetch(new URL(path, app.url))).status]).toEqual([path, 200]);
    } finally {
      await app.close();
    }
  });
});
