import { startApp, type TestApp } from '../support/app';
import { rawCall } from '../support/raw-http';

let app: TestApp;
let scene: Awaited<ReturnType<TestApp['given']['scene']>>;

beforeAll(async () => {
  app = await startApp({ env: { BASE_PATH: '/v1' } });
  scene = await app.given.scene();
});
afterAll(() => app.close());

// The base URL that the tests use ends with the path prefix (BASE_PATH), like the base URL of clients.
const origin = () => new URL(app.url).origin;

describe('§1 BASE_PATH=/v1', () => {
  it('serves every route of the OpenAPI document below BASE_PATH, and returns 404 without the prefix', async () => {
    const document = (await app.call('GET', '/openapi.json')).body;
    expect(document.servers).toEqual([{ url: '/v1' }]);
    for (const [template, item] of Object.entries(document.paths as Record<string, object>)) {
      const path = template.replaceAll(/\{[^}]+\}/g, 'x');
      for (const method of Object.keys(item)) {
        const inside = await rawCall(origin(), method.toUpperCase(), `/v1${path}`);
        // A public route may answer 404 not_found. In that case, the path in the problem document shows that the
        // request arrived at the route.
        const reached = inside.status !== 404 || inside.text.includes(`/v1${path}`);
        expect([method, template, reached]).toEqual([method, template, true]);
        const outside = await rawCall(origin(), method.toUpperCase(), path);
        expect([method, template, outside.status]).toEqual([method, template, 404]);
      }
    }
  });

  it.each([
    '/docs',
    '/openapi.json',
    '/openapi.yaml',
    '/health/live',
    '/health/ready',
    '/problems',
    '/.well-known/jwks.json',
    '/.well-known/oauth-authorization-server',
    '/console',
  ])('the address %s is served below BASE_PATH', async (path) => {
    const inside = await app.call('GET', path, { redirect: 'follow' });
    expect([path, inside.status]).toEqual([path, 200]);
    expect((await rawCall(origin(), 'GET', path)).status).toBe(404);
  });

  it('includes BASE_PATH in the addresses that responses contain: problem types, Link, launch_url and metadata', async () => {
    const { body } = await app.call('GET', `/accounts/${scene.account}/eligibilities?limit=0`, { token: scene.token });
    expect(body).toMatchObject({
      type: `${origin()}/v1/problems/validation_error`,
      instance: `/v1/accounts/${scene.account}/eligibilities`,
    });
    const record = await app.given.eligibility(scene);
    await app.given.eligibility(scene);
    const page = await app.call('GET', `/accounts/${scene.account}/eligibilities?limit=1`, { token: scene.token });
    const next = /^<([^>]+)>/.exec(page.headers.get('link')!)![1];
    expect(next.startsWith(`${origin()}/v1/accounts/`)).toBe(true);
    const second = await fetch(next, { headers: { authorization: `Bearer ${scene.token}` } });
    expect(((await second.json()) as any[]).map(({ svc_eligiblity_id }) => svc_eligiblity_id as string)).toEqual([
      record['svc_eligiblity_id'],
    ]);
    const launch = await app.call('GET', `/eligibilities/${record['svc_eligiblity_id']}/testLaunchInfo`, {
      token: scene.token,
    });
    expect(launch.body.launch_url.startsWith(`${origin()}/v1/launch/`)).toBe(true);
    expect((await fetch(launch.body.launch_url as string, { redirect: 'manual' })).status).toBe(303);
    const metadata = (await app.call('GET', '/.well-known/oauth-authorization-server')).body;
    expect(metadata.token_endpoint).toBe(`${origin()}/v1/token`);
  });

  it('returns 405 with Allow for an unsupported method on a route below BASE_PATH', async () => {
    const answer = await rawCall(origin(), 'PATCH', `/v1/accounts/${scene.account}/candidates`);
    expect([answer.status, answer.headers.allow]).toEqual([405, 'POST']);
  });
});
