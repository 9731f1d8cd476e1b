import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureExamples, ensureSandbox } from '../../src/sandbox';
import { startApp, type Answer, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';

/** The operations whose examples the test does not send, each with the reason. */
const OTHER: Record<string, string> = {
  'GET /console/sign-in': 'needs an identity provider, which a sandbox lacks',
  'GET /console/sign-in/callback': 'needs an identity provider, which a sandbox lacks',
  'GET /admin/events': 'is a stream that never ends',
  'POST /admin/alerts/{name}/test': 'needs a mail server or a public webhook, which a sandbox lacks',
};
/** These operations may answer 409, because an import of a few rows may be complete before it can be aborted. */
const TOO_LATE = [
  'POST /accounts/{account_code}/eligibility-imports/{import_id}/abort',
  'POST /admin/imports/{import_id}/abort',
];
/** The operations that end the console session, which all examples share. */
const LAST = ['DELETE /console/session', 'DELETE /console/sessions'];

/**
 * Sends every example of the OpenAPI document to a fresh sandbox. The test changes only the secrets in the examples,
 * because each sandbox has its own secrets. Each example must work as the first request to a fresh sandbox, so the
 * order of the examples does not matter.
 */
describe.each([
  ['in the order of the document', (names: string[]) => names],
  ['in the opposite order', (names: string[]) => names.toReversed()],
])('the examples of the OpenAPI document in a fresh sandbox, %s', (_, ordered) => {
  let app: TestApp;
  let document: any;
  let sandbox: any;
  let cookie = '';
  const tokens: Record<string, string> = {};

  beforeAll(async () => {
    app = await startApp({ env: { SANDBOX: 'true', RETRY_SCHEDULE_S: '3600' } });
    const files = await ensureSandbox(app.app, app.config);
    await ensureExamples(app.app, app.config, files!);
    sandbox = JSON.parse(readFileSync(join(app.config.process.dataDir, 'sandbox.json'), 'utf8'));
    document = (await app.call('GET', '/openapi.json')).body;
    for (const name of ['client', 'operator']) tokens[name] = await tokenOf(sandbox[name]);
  });
  afterAll(() => app.close());

  async function tokenOf(login: Record<string, string>): Promise<string> {
    const { consumer_key, consumer_secret, username, password } = login;
    const answer = await fetch(`${app.url}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${consumer_key}:${consumer_secret}`)}` },
      body: new URLSearchParams({ grant_type: 'password', username, password } as Record<string, string>),
    });
    return ((await answer.json()) as { access_token: string }).access_token;
  }

  /**
   * Sends the example of an operation. If the operation has several media types, sends the example of the given type.
   */
  async function send(name: string, type?: string): Promise<Answer> {
    const [method, path] = name.split(' ');
    const operation = document.paths[path][method.toLowerCase()];
    let address = path;
    const headers: Record<string, string> = {};
    const query = new URLSearchParams();
    for (const parameter of operation.parameters ?? []) {
      if (!parameter.required) continue;
      const value = String(parameter.example);
      if (parameter.in === 'path') address = address.replace(`{${parameter.name}}`, encodeURIComponent(value));
      else if (parameter.in === 'header') headers[parameter.name] = value;
      else query.set(parameter.name, value);
    }
    const content = Object.entries((operation.requestBody?.content ?? {}) as Record<string, { example: any }>);
    const [mediaType, media] = content.find(([known]) => type === undefined || known === type) ?? [];
    let body: unknown = media?.example;
    if (mediaType !== undefined) headers['content-type'] = mediaType;
    // The document contains no password; a person who sends the example fills in the password.
    if (media?.example.password !== undefined && media.example.username in PASSWORDS())
      body = { ...media.example, password: PASSWORDS()[media.example.username] };
    if (mediaType === 'application/x-www-form-urlencoded')
      body = new URLSearchParams(body as Record<string, string>).toString();
    const [security] = operation.security as Record<string, string[]>[];
    let token: string | undefined;
    if (security?.['oauth2'])
      token = tokens[['admin', 'partner'].includes(security['oauth2'][0]) ? 'operator' : 'client'];
    else if (security?.['client']) {
      const { consumer_key, consumer_secret } = sandbox.client;
      headers['authorization'] = `Basic ${btoa(`${consumer_key}:${consumer_secret}`)}`;
    }
    if (path.startsWith('/console/') && cookie !== '') headers['cookie'] = cookie;
    return app.call(method, address + (query.size > 0 ? `?${query.toString()}` : ''), { token, body, headers });
  }
  const PASSWORDS = (): Record<string, string> =>
    Object.fromEntries([sandbox.client, sandbox.operator].map(({ username, password }) => [username, password]));

  const operations = (): string[] =>
    Object.entries(document.paths as Record<string, object>).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );

  it('the examples of the OpenAPI document name the account of the sandbox', () => {
    const [parameter] = document.paths['/accounts/{account_code}/candidates'].post.parameters;
    expect(parameter).toMatchObject({ name: 'account_code', example: sandbox.account_code });
  });

  it('a fresh sandbox contains an object of each kind that the examples need', async () => {
    const { operator: token } = tokens;
    const count = async (path: string) => ((await app.call('GET', path, { token })).body as unknown[]).length;
    const lists = [
      '/admin/subscriptions',
      '/admin/notifications',
      '/admin/error-queue',
      '/admin/jobs',
      '/admin/unmatched-results',
      '/admin/imports',
      '/admin/alerts',
      '/admin/eligibilities?waiting_for=APPROVAL',
      '/admin/eligibilities?waiting_for=HOLD',
    ];
    for (const path of lists) expect([path, (await count(path)) > 0]).toEqual([path, true]);
  });

  it('a fresh sandbox contains the documented codes, and notifies no partner when an absence is reported', async () => {
    const { operator, client } = tokens;
    const account = sandbox.account_code as string;
    const read = async (path: string) => (await app.call('GET', path, { token: operator })).body as any[];
    const codes = async (kind: string, code: string) =>
      (await read(`/admin/accounts/${account}/${kind}`)).map((entry) => entry[code] as string).sort();
    expect(await codes('tests', 'test_code')).toEqual(['SANDBOX-ONE', 'SANDBOX-TWO']);
    expect(await codes('schools', 'school_code')).toEqual(['SCHOOL-1']);
    expect(await codes('accommodations', 'accommodation_code')).toEqual(['EXTRA-TIME', 'LARGE-PRINT']);
    expect(await codes('attribute-keys', 'attribute_key')).toEqual(['cohort']);
    expect(await codes('vouchers', 'voucher_code')).toEqual(['AMOUNT-25', 'EXPIRED-50', 'ONCE-100', 'PERCENT-10']);
    const post = (path: string, body: object) =>
      app.call('POST', `/accounts/${account}/${path}`, { token: client, body });
    await post('candidates', {
      test_code: 'SANDBOX-ONE',
      eligibility_end_date: '2099-12-31T23:59:59Z',
      candidate: { candidate_id: 'ABSENT-1', first_name: 'Ada', last_name: 'Lovelace' },
    });
    const booked = await post('candidates/ABSENT-1/tests/SANDBOX-ONE/bookings', {
      booking_on: '2098-06-15T14:00:00Z',
      delivery_mode: 'SVC_REMOTE_PROCTORED',
    });
    const { booking_code } = booked.body;
    expect((await post(`bookings/${booking_code}/absence`, { excused: true })).status).toBe(204);
    const unsettled = 'SELECT FROM domain_events WHERE settled_at IS NULL';
    await eventually(async () => expect(await app.given.sql(unsettled)).toEqual([]));
    for (const path of ['notifications', 'error-queue', 'subscriptions', 'partners'])
      expect([path, await read(`/admin/${path}?account_code=${account}`)]).toEqual([path, []]);
    const causes = await read('/admin/error-queue/summary');
    expect(causes.filter((cause) => cause.account_code === account)).toEqual([]);
    expect(await read(`/sandbox/received?booking_code=${booking_code}`)).toEqual([]);
  });

  it('a fresh sandbox answers every example of the OpenAPI document with success or a redirect', async () => {
    const signedIn = await send('POST /console/session');
    cookie = signedIn.headers.get('set-cookie')!.split(';')[0];
    const names = operations().filter((name) => !(name in OTHER) && !LAST.includes(name));
    const refused: string[] = [];
    for (const name of [...ordered(names), ...LAST]) {
      const [method, path] = name.split(' ');
      const types = Object.keys(document.paths[path][method.toLowerCase()].requestBody?.content ?? {});
      for (const type of types.length > 1 ? types : [undefined]) {
        // Each of the last two operations ends the session, so each needs a new session.
        if (LAST.includes(name))
          cookie = (await send('POST /console/session')).headers.get('set-cookie')!.split(';')[0];
        const { status, text } = await send(name, type);
        const isGood = status < 400 || (status === 409 && TOO_LATE.includes(name));
        if (!isGood) refused.push(`${name}: ${status} ${text}`);
      }
    }
    expect(refused).toEqual([]);
  }, 120_000);

  it('GET /admin/events opens the event stream, which never ends', async () => {
    const stopped = new AbortController();
    const response = await fetch(`${app.url}/admin/events`, {
      headers: { authorization: `Bearer ${tokens['operator']}` },
      signal: stopped.signal,
    });
    expect(response.status).toBe(200);
    stopped.abort();
  });
});
