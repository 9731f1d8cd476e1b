import { createServer, type AddressInfo } from 'node:net';
import { startApp, type TestApp } from '../support/app';
import { selfSigned } from '../support/certificates';
import { Subscribed } from '../support/subscribed';

let app: TestApp;
let subscribed: Subscribed;

beforeAll(async () => {
  app = await startApp();
});
beforeEach(async () => {
  subscribed = await Subscribed.start(app);
});
afterEach(() => subscribed.stop());
afterAll(() => app.close());

const outcomes = (body: any) => body.steps.map(({ outcome }: any) => outcome);

test('sends a signed sample of any kind of event, reports each step and writes an audit row, but stores no notification', async () => {
  const { status, body } = await subscribed.post('sample', { change_reason: 'EXAM_COMPLETED' });
  expect(status).toBe(200);
  expect(body).toMatchObject({
    delivered: true,
    change_reason: 'EXAM_COMPLETED',
    addresses: ['127.0.0.1'],
    protocol: 'TLSv1.3',
    failure: null,
    http_status: 200,
  });
  expect(body.steps.map(({ step }: any) => step)).toEqual(['NAME', 'ADDRESS', 'TLS', 'SIGN_IN', 'ANSWER']);
  expect(outcomes(body)).toEqual(['OK', 'OK', 'OK', 'OK', 'OK']);
  expect(body.certificates[0]).toEqual({
    subject: expect.stringContaining('CN='),
    issuer: expect.stringContaining('CN='),
    not_before: expect.any(String),
    not_after: expect.any(String),
    fingerprint: expect.stringMatching(/^([0-9A-F]{2}:){31}[0-9A-F]{2}$/),
  });
  const [request, ...more] = subscribed.partner.requests;
  expect(more).toEqual([]);
  expect(request.json).toMatchObject({ change_reason: 'EXAM_COMPLETED', booking_code: 'SAMPLE0001' });
  expect(request.headers['webhook-signature']).toMatch(/^v1,/);
  expect(await subscribed.notifications()).toEqual([]);
  const audit = await subscribed.get(`/admin/audit?subject=${subscribed.id}&action=subscription.sample`);
  expect(audit.body).toHaveLength(1);
});

test.each([
  [400, 'ANSWER', 'client_error', ['OK', 'OK', 'OK', 'OK', 'FAILED']],
  [401, 'SIGN_IN', 'auth', ['OK', 'OK', 'OK', 'FAILED', 'NOT_REACHED']],
  [302, 'ANSWER', 'redirect', ['OK', 'OK', 'OK', 'OK', 'FAILED']],
])('a sample that is answered with %s fails in the %s step', async (status, step, failure, steps) => {
  subscribed.partner.answer({ status, body: 'not <b>like</b> this' });
  const { body } = await subscribed.post('sample', {});
  expect(body).toMatchObject({ delivered: false, change_reason: 'BOOKING_CREATED', failure, http_status: status });
  expect(outcomes(body)).toEqual(steps);
  expect(body.steps.find(({ outcome }: any) => outcome === 'FAILED').step).toBe(step);
});

test('the report of a sample shows a certificate that is not accepted, and no request is sent', async () => {
  const { certPem } = await selfSigned('somebody.example');
  await subscribed.patch({ ca_pem: certPem });
  const { body } = await subscribed.post('sample', {});
  expect(body).toMatchObject({ delivered: false, failure: 'tls', http_status: null });
  expect(outcomes(body)).toEqual(['OK', 'OK', 'FAILED', 'NOT_REACHED', 'NOT_REACHED']);
  expect(body.certificates.length).toBeGreaterThan(0);
  expect(subscribed.partner.requests).toEqual([]);
});

test('the report of a sample distinguishes an unknown host name, a refused connection and a forbidden address', async () => {
  await subscribed.patch({ partner_url: 'https://nobody.invalid/hooks' });
  const unknown = (await subscribed.post('sample', {})).body;
  expect([unknown.failure, ...outcomes(unknown)]).toEqual(['dns', 'FAILED', ...Array(4).fill('NOT_REACHED')]);
  await subscribed.patch({ partner_url: 'https://127.0.0.1:1/hooks' });
  const dead = (await subscribed.post('sample', {})).body;
  expect([dead.failure, ...outcomes(dead)]).toEqual(['connect', 'OK', 'FAILED', ...Array(3).fill('NOT_REACHED')]);
  await app.given.sql(`UPDATE subscriptions SET partner_url = 'https://10.1.2.3/hooks' WHERE id = $1`, [subscribed.id]);
  const blocked = (await subscribed.post('sample', {})).body;
  expect([blocked.failure, ...outcomes(blocked)]).toEqual(['blocked', 'OK', 'FAILED', ...Array(3).fill('NOT_REACHED')]);
});

test('a sample fails in the ANSWER step when the partner reads the request and then closes the connection', async () => {
  subscribed.partner.answer({ rst: 'before' });
  const { body } = await subscribed.post('sample', {});
  expect([body.failure, body.http_status, body.protocol]).toEqual(['connect', null, 'TLSv1.3']);
  expect(outcomes(body)).toEqual(['OK', 'OK', 'OK', 'OK', 'FAILED']);
  expect(body.steps[4]).toMatchObject({
    reason: 'ECONNRESET',
    detail: expect.stringContaining('closed the connection'),
  });
});

test('a sample fails in the TLS step if the server does not speak TLS, whether it closes the connection or sends nothing', async () => {
  for (const ending of ['hangs up', 'says nothing']) {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      if (ending === 'hangs up') socket.once('data', () => socket.destroy());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    await subscribed.patch({ partner_url: `https://localhost:${port}`, wait_ms: 1000 });
    const { body } = await subscribed.post('sample', {});
    expect(outcomes(body)).toEqual(['OK', 'OK', 'FAILED', 'NOT_REACHED', 'NOT_REACHED']);
    server.close();
  }
});

test('the report of a sample that the partner answers with 400 explains that a 200 is required', async () => {
  await subscribed.patch({ partner_url: `${subscribed.partner.url}/new` });
  subscribed.partner.answer({ status: 400, body: 'no such candidate' });
  const { body } = await subscribed.post('verify');
  expect(body).toMatchObject({
    code: 'verification_failed',
    failure: 'client_error',
    reason: 'NO_MATCHING_RECORD',
    http_status: 400,
    excerpt: 'no such candidate',
    detail: expect.stringContaining('SAMPLE-CANDIDATE'),
  });
  const report = (await subscribed.post('sample', {})).body;
  expect(report.steps[4]).toMatchObject({ reason: 'NO_MATCHING_RECORD', detail: body.detail });
  subscribed.partner.answer({ status: 404 });
  expect((await subscribed.post('verify')).body.detail).not.toContain('SAMPLE-CANDIDATE');
});

test('a sample makes the subscription ACTIVE only if `verify` is set and the partner returns 200', async () => {
  await subscribed.patch({ partner_url: `${subscribed.partner.url}/new` });
  expect((await subscribed.post('sample', {})).body.delivered).toBe(true);
  expect(await subscribed.subscription()).toMatchObject({ state: 'UNVERIFIED' });
  subscribed.partner.answer({ status: 500 });
  expect((await subscribed.post('sample', { verify: true })).body.delivered).toBe(false);
  expect(await subscribed.subscription()).toMatchObject({ state: 'UNVERIFIED' });
  subscribed.partner.answer({ status: 200 });
  expect((await subscribed.post('sample', { verify: true })).body.delivered).toBe(true);
  expect(await subscribed.subscription()).toMatchObject({ state: 'ACTIVE' });
});

test('only operators and the account’s support staff may send a sample', async () => {
  const support = await app.given.token([subscribed.scene.account], ['support']);
  const path = `/admin/subscriptions/${subscribed.id}/sample`;
  expect((await app.call('POST', path, { token: support, body: {} })).status).toBe(200);
  const elsewhere = await app.given.token([(await app.given.scene()).account], ['support']);
  expect((await app.call('POST', path, { token: elsewhere, body: {} })).body.code).toBe('not_found');
  expect((await subscribed.post('sample', { change_reason: 'NOTHING' })).status).toBe(400);
});
