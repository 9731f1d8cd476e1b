import { ensureSandbox } from '../../src/sandbox';
import { startApp, type Answer, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Tries every operation of a sandbox's document with its example, in the order in which a person would call them. Only
 * generated values (ids, codes, tokens) are taken from earlier responses.
 */
describe('the examples of the document, against a sandbox', () => {
  let app: TestApp;
  let document: any;
  let sandbox: any;
  const tokens: Record<string, string> = {};
  /**
   * The values that the service generated in earlier responses. They replace the values of members and parameters with
   * the same name.
   */
  const made: Record<string, string> = {};
  const tried = new Set<string>();

  beforeAll(async () => {
    app = await startApp({ env: { SANDBOX: 'true', RETRY_SCHEDULE_S: '3600' } });
    await ensureSandbox(app.app, app.config);
    sandbox = JSON.parse(readFileSync(join(app.config.process.dataDir, 'sandbox.json'), 'utf8'));
    document = (await app.call('GET', '/openapi.json')).body;
  });
  afterAll(() => app.close());

  /** Sends the example request of an operation. */
  async function tryOut(name: string, own: Record<string, string> = {}, type?: string): Promise<Answer> {
    tried.add(name);
    const [method, path] = name.split(' ');
    const operation = document.paths[path][method.toLowerCase()];
    const values = { ...made, ...own };
    let address = path;
    const headers: Record<string, string> = {};
    const query = new URLSearchParams();
    for (const parameter of operation.parameters ?? []) {
      if (!parameter.required) continue;
      const value = String(values[parameter.name] ?? parameter.example);
      if (parameter.in === 'path') address = address.replace(`{${parameter.name}}`, encodeURIComponent(value));
      else if (parameter.in === 'header') headers[parameter.name] = value;
      else query.set(parameter.name, value);
    }
    const content = Object.entries((operation.requestBody?.content ?? {}) as Record<string, { example: unknown }>);
    const [mediaType, media] = content.find(([known]) => type === undefined || known === type) ?? [];
    let body: unknown = media?.example;
    if (mediaType !== undefined) headers['content-type'] = mediaType;
    if (typeof body === 'object' && !Array.isArray(body) && body !== null) {
      const members = body as Record<string, unknown>;
      for (const member of Object.keys(members)) if (values[member] !== undefined) members[member] = values[member];
      if (mediaType === 'application/x-www-form-urlencoded')
        body = new URLSearchParams(members as Record<string, string>).toString();
    }
    let token: string | undefined;
    const [security] = operation.security as Record<string, string[]>[];
    const holders: Record<string, string> = { admin: 'operator', partner: 'partner' };
    if (security?.['oauth2']) token = tokens[holders[security['oauth2'][0]] ?? 'client'];
    else if (security?.['client']) {
      const { consumer_key, consumer_secret } = sandbox.client;
      headers['authorization'] = `Basic ${btoa(`${consumer_key}:${consumer_secret}`)}`;
    }
    const answer = await app.call(method, address + (query.size > 0 ? `?${query.toString()}` : ''), {
      token,
      body,
      headers,
    });
    if (answer.status >= 400) throw new Error(`${name}: ${answer.status} ${answer.text}`);
    return answer;
  }

  const ofAccount = '/accounts/{account_code}';
  const ofTest = `${ofAccount}/candidates/{candidate_id}/tests/{test_code}`;
  const inCatalogue = '/admin/accounts/{account_code}';
  const all = async (names: string[]) => {
    for (const name of names) await tryOut(name);
  };
  const create = async () => {
    made['svc_id'] = made['svc_eligibility_code'] = (
      await tryOut(`POST ${ofAccount}/candidates`)
    ).body.svc_eligiblity_id;
  };
  const book = async () => {
    made['booking_code'] = (await tryOut(`POST ${ofTest}/bookings`)).body.booking_code;
  };

  it('uses the sandbox’s account in every example of the OpenAPI document', () => {
    const [parameter] = document.paths[`${ofAccount}/candidates`].post.parameters;
    expect(parameter).toMatchObject({ name: 'account_code', example: sandbox.account_code });
  });

  it('the sandbox issues tokens for the credentials in its credentials file', async () => {
    const { username, password } = sandbox.client;
    const granted = await tryOut('POST /token', { username, password });
    tokens['client'] = granted.body.access_token;
    const operator = sandbox.operator;
    const answer = await fetch(`${app.url}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${operator.consumer_key}:${operator.consumer_secret}`)}` },
      body: new URLSearchParams({
        grant_type: 'password',
        username: operator.username,
        password: operator.password,
      }),
    });
    tokens['operator'] = ((await answer.json()) as { access_token: string }).access_token;
    const { username: name, password: secret } = sandbox.operator;
    const session = await tryOut('POST /console/session', { username: name, password: secret });
    expect(session.headers.get('set-cookie')).toContain('HttpOnly');
    await all(['GET /console/session', 'DELETE /console/session', 'DELETE /console/sessions']);
    expect((await tryOut('POST /introspect', { token: tokens['client'] })).body.active).toBe(true);
    await tryOut('POST /revoke', { token: granted.body.refresh_token });
    tokens['client'] = (await tryOut('POST /token', { username, password })).body.access_token;
  });

  it('the examples of the routes for public documents work in a sandbox', () =>
    all([
      'GET /',
      'GET /health/live',
      'GET /health/ready',
      'GET /problems',
      'GET /problems/{code}',
      'GET /.well-known/oauth-authorization-server',
      'GET /.well-known/jwks.json',
    ]));

  it('the examples of the routes for catalogue, users and applications work in a sandbox', async () => {
    for (const kind of ['tests', 'schools', 'accommodations', 'attribute-keys', 'vouchers']) {
      const code = kind === 'tests' ? 'test_code' : 'code';
      const one = `${inCatalogue}/${kind}/{${code}}`;
      await all([`GET ${inCatalogue}/${kind}`, `GET ${one}`, `DELETE ${one}`, `PUT ${one}`]);
    }
    await all(['GET /admin/accounts', `PUT ${inCatalogue}`, `GET ${inCatalogue}`, 'POST /admin/accounts']);
    await all(['POST /admin/users', 'GET /admin/users', 'GET /admin/users/{username}', 'PUT /admin/users/{username}']);
    await tryOut('POST /admin/users/{username}/unlock');
    made['consumer_key'] = (await tryOut('POST /admin/applications')).body.consumer_key;
    const one = '/admin/applications/{consumer_key}';
    await all(['GET /admin/applications', `GET ${one}`, `PUT ${one}`, `POST ${one}/rotate-secret`]);
  });

  it('the examples of the routes for partners and their notifications work in a sandbox', async () => {
    const one = '/admin/subscriptions/{id}';
    made['id'] = (await tryOut('POST /admin/subscriptions')).body.id;
    await all([`POST ${one}/verify`, 'GET /admin/subscriptions', `GET ${one}`, `GET ${one}/statistics`]);
    await all([`POST ${one}/sample`, 'GET /admin/partners', 'GET /admin/overview']);
    await all([`POST ${one}/suspend`, `POST ${one}/resume`, `POST ${one}/rotate-secret`]);
  });

  it('the examples of the routes for eligibilities, bookings and launches work in a sandbox', async () => {
    await create();
    await all([`PUT ${ofTest}`, `PUT ${ofTest}/vouchers`, `GET ${ofTest}/vouchers`, `GET ${ofTest}`]);
    const ofCandidate = `${ofAccount}/candidates/{candidate_id}`;
    await all([
      `GET ${ofCandidate}`,
      `GET ${ofCandidate}/eligibilities`,
      `GET ${ofAccount}/eligibilities`,
      `GET ${ofAccount}/eligibilities/{svc_id}`,
    ]);
    const record = '/admin/eligibilities/{svc_id}';
    await all([`POST ${record}/hold`, `POST ${record}/release`, `POST ${record}/approve-accommodations`]);
    // The response is a refusal, because the record no longer waits for approval.
    await tryOut(`POST ${record}/decline-accommodations`).catch((error: Error) =>
      expect(error.message).toContain('403'),
    );
    await all(['GET /admin/eligibilities', `GET ${record}`]);
    const launched = await tryOut('GET /eligibilities/{svc_eligibility_code}/testLaunchInfo');
    await tryOut('GET /launch/{launch_code}', { launch_code: launched.body.launch_url.split('/launch/')[1] });
    await tryOut(`DELETE ${ofTest}`);
    await create();
    await book();
    const booking = `${ofAccount}/bookings/{booking_code}`;
    await all([`GET ${ofCandidate}/bookings`, `GET ${booking}`, `PUT ${booking}`, `DELETE ${booking}`]);
    await book();
    await tryOut(`POST ${booking}/absence`);
    await all(['GET /admin/candidates', `GET ${ofAccount}/changes`, `GET ${ofAccount}/eligibilities.csv`]);
  });

  it('the examples of the routes for results work in a sandbox', async () => {
    await book();
    await tryOut('POST /registrations/registration/results');
    await tryOut(`PUT ${ofAccount}`);
    await tryOut(`GET ${ofTest}/results`);
    const ofCandidate = `${inCatalogue}/candidates/{candidate_id}`;
    await all([
      `GET ${ofCandidate}`,
      ...['bookings', 'results', 'changes', 'audit'].map((what) => `GET ${ofCandidate}/${what}`),
    ]);
    await tryOut('GET /admin/eligibilities/{svc_id}/results/{revision}');
    for (const decision of ['hold', 'revoke', 'release'])
      await tryOut(`POST /admin/eligibilities/{svc_id}/result/${decision}`);
    const stray = await app.call('POST', '/registrations/registration/results', {
      token: tokens['client'],
      body: { examMetaData: { examCode: 'NOBODY-KNOWS' } },
    });
    expect(stray.status).toBe(400);
    const [unmatched] = (await tryOut('GET /admin/unmatched-results')).body;
    await tryOut('GET /admin/unmatched-results/{id}', { id: unmatched.id });
    await tryOut('GET /admin/unmatched-results/{id}/candidates', { id: unmatched.id });
    await tryOut('POST /admin/unmatched-results/{id}/reject', { id: unmatched.id });
    await create();
    await book();
    await tryOut('GET /admin/unmatched-results/{id}/exam', { id: unmatched.id, code: made['booking_code'] });
    await tryOut('POST /admin/unmatched-results/{id}/accept', { id: unmatched.id });
    const broken = await app.call('POST', '/registrations/registration/results', {
      token: tokens['client'],
      headers: { 'content-type': 'application/json' },
      body: '{"examMetaData":',
    });
    await tryOut('GET /admin/unmatched-results/{id}/raw', { id: broken.body.unmatched_result_id });
  });

  it('the examples of the routes for imports work in a sandbox, as CSV and as NDJSON', async () => {
    const imports = `${ofAccount}/eligibility-imports`;
    for (const type of ['text/csv', 'application/x-ndjson'])
      made['import_id'] = (await tryOut(`POST ${imports}`, {}, type)).body.import_id;
    const done = await eventually(async () => {
      const { body } = await tryOut(`GET ${imports}/{import_id}`);
      expect(body).toMatchObject({ state: 'DONE', created: 1, refused: 0 });
      return body;
    });
    expect(done.rows).toBe(1);
    await all([`GET ${imports}`, `GET ${imports}/{import_id}/report`, 'GET /admin/imports']);
    for (const path of [imports, '/admin/imports'])
      await tryOut(`POST ${path}/{import_id}/abort`).catch((error: Error) => expect(error.message).toContain('409'));
  });

  it('the examples of the routes for notifications, the error queue and jobs work in a sandbox', async () => {
    const { partner_url, ca_pem } = sandbox.partner;
    const one = '/admin/subscriptions/{id}';
    const change = (body: object) =>
      app.call('PATCH', `/admin/subscriptions/${made['id']}`, { token: tokens['operator'], body });
    await change({ partner_url: `${partner_url}/400`, ca_pem });
    // The state of the subscription is set without a verification, because the partner of the sandbox answers 400 at
    // this address.
    await app.given.sql(`UPDATE subscriptions SET state = 'ACTIVE' WHERE id = $1`, [made['id']]);
    await create();
    await book();
    await book().catch(() => undefined);
    await eventually(async () => {
      const [failed] = (await tryOut('GET /admin/error-queue')).body;
      made['notification_id'] = failed.id;
    });
    await tryOut('GET /admin/error-queue/summary');
    await tryOut('GET /admin/notifications');
    await tryOut('GET /admin/notifications/{id}', { id: made['notification_id'] });
    await tryOut('POST /admin/error-queue/{notification_id}/resolve');
    await tryOut('POST /sandbox/events');
    await tryOut('POST /sandbox/clock');
    await all(['GET /sandbox/clock', 'GET /sandbox/received']);
    await eventually(async () => {
      const [failed] = (await tryOut('GET /admin/error-queue')).body;
      made['notification_id'] = failed.id;
      await tryOut('POST /admin/error-queue/{notification_id}/resend');
    });
    const job = (await tryOut('POST /admin/error-queue/resend')).body;
    made['job_id'] = made['resend_id'] = job.job_id;
    await tryOut('POST /admin/error-queue/resolve');
    await tryOut('POST /admin/notifications/replay', { subscription_id: made['id'] });
    await all(['GET /admin/jobs', 'GET /admin/jobs/{job_id}', 'GET /admin/jobs/{job_id}/items']);
    await all(['GET /admin/error-queue/resends', 'GET /admin/error-queue/resends/{resend_id}']);
    for (const action of ['pause', 'resume', 'abort'])
      for (const path of ['jobs/{job_id}', 'error-queue/resends/{resend_id}'])
        await tryOut(`POST /admin/${path}/${action}`).catch((error: Error) => expect(error.message).toContain('409'));
    tokens['partner'] = await app.given.token([], ['partner'], [made['id']]);
    await all(['GET /partner/subscriptions', 'GET /partner/subscriptions/{id}', 'GET /partner/notifications']);
    await change({ partner_url, ca_pem });
    for (const action of ['verify', 'rotate-secret', 'suspend', 'resume'])
      await tryOut(`POST /partner/subscriptions/{id}/${action}`);
    await tryOut('GET /partner/notifications/{id}', { id: made['notification_id'] });
    await tryOut('POST /partner/notifications/{id}/resend', { id: made['notification_id'] }).catch((error: Error) =>
      expect(error.message).toContain('409'),
    );
    made['job_id'] = (await tryOut('POST /partner/notifications/replay')).body.job_id;
    await tryOut('POST /partner/notifications/poll');
    await tryOut('GET /partner/digest', { subscription_id: made['id'] });
    await tryOut('GET /partner/jobs/{job_id}');
    for (const action of ['pause', 'resume', 'abort'])
      await tryOut(`POST /partner/jobs/{job_id}/${action}`).catch((error: Error) =>
        expect(error.message).toContain('409'),
      );
    await tryOut(`PATCH ${one}`);
    await tryOut(`DELETE ${one}`);
  });

  it('the examples of the routes for the data held about a candidate work in a sandbox', async () => {
    await tryOut(`DELETE ${ofAccount}/bookings/{booking_code}`);
    await tryOut(`GET ${inCatalogue}/candidates/{candidate_id}/export`);
    const { body } = await tryOut(`POST ${inCatalogue}/candidates/{candidate_id}/erase`);
    await tryOut('POST /admin/jobs/{job_id}/unmatched-results/erase', { job_id: body.job_id });
    await all(['GET /admin/audit', 'GET /admin/audit/seals']);
  });

  it('every operation of the OpenAPI document has an example that this file runs', () => {
    const operations = Object.entries(document.paths as Record<string, object>).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    );
    // Sign-in routes need an identity provider, which a sandbox lacks, and the event stream never ends.
    const tryable = operations.filter((name) => !name.includes(' /console/sign-in') && name !== 'GET /admin/events');
    expect([...tried].sort()).toEqual(tryable.sort());
  });
});
