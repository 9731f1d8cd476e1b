import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import tls from 'node:tls';
import { CONDITIONS } from '../../src/alerts/conditions';
import { Alerted } from '../support/alerted';
import { startApp, type TestApp } from '../support/app';
import { MailServer } from '../support/mail-server';
import { startPartner, type Partner } from '../support/partner';

let mail: MailServer;
let app: TestApp;
let alerted: Alerted;
let webhook: Partner;

beforeAll(async () => {
  mail = await MailServer.start();
  webhook = await startPartner();
  // The service verifies webhook servers with the certificate authorities of the system. The test adds the authority
  // that signed the certificate of its own server.
  const original = tls.createSecureContext.bind(tls);
  jest
    .spyOn(tls, 'createSecureContext')
    .mockImplementation((options = {}) => original(options.ca ? options : { ...options, ca: webhook.caPem }));
  app = await startApp({ env: mail.settings });
  alerted = new Alerted(app, mail);
});
afterAll(async () => {
  await app.close();
  await webhook.stop();
  await mail.stop();
  jest.restoreAllMocks();
});

const webhookUrl = 'https://hooks.example/';
const EMAIL = { kind: 'EMAIL', to: ['on-call@example.org'] };
const codesOf = (answer: { body: any }) =>
  (answer.body.errors as { pointer: string; code: string }[]).map(({ pointer, code }) => `${pointer} ${code}`).sort();

describe('the definition of an alert', () => {
  it('PUT creates or replaces an alert, and GET and the list show it until it is deleted', async () => {
    const created = await alerted.put('on-call', EMAIL);
    expect(created).toMatchObject({
      ...{ name: 'on-call', kind: 'EMAIL', to: ['on-call@example.org'], url: null, headers: [] },
      ...{ account_codes: [], conditions: [...CONDITIONS], quiet_s: 900, disabled: false, waiting: 0 },
      ...{ last_sent_datetime: null, last_error: null, last_error_datetime: null, next_attempt_at: null },
    });
    const account = await app.given.account();
    const changed = await alerted.put('on-call', {
      ...EMAIL,
      to: ['one@example.org', 'two@example.org', 'one@example.org'],
      account_codes: [account],
      conditions: ['AUDIT_BROKEN', 'PARTNER_DOWN'],
      quiet_s: 60,
      disabled: true,
    });
    expect(changed).toMatchObject({
      to: ['one@example.org', 'two@example.org'],
      account_codes: [account],
      conditions: ['PARTNER_DOWN', 'AUDIT_BROKEN'],
      quiet_s: 60,
      disabled: true,
      created_datetime: created['created_datetime'],
    });
    expect(await alerted.get('on-call')).toEqual(changed);
    const { body } = await alerted.call('GET', '');
    expect(body).toEqual([changed]);
    expect((await alerted.call('DELETE', 'on-call')).status).toBe(204);
    for (const method of ['GET', 'DELETE']) expect((await alerted.call(method, 'on-call')).status).toBe(404);
    expect((await alerted.call('POST', 'on-call/test')).status).toBe(404);
  });

  it('PUT of an alert accepts the body that GET returned, and keeps the alert’s header values', async () => {
    const headers = [{ name: 'Authorization', value: 'Bearer of the alert' }];
    for (const body of [EMAIL, { kind: 'WEBHOOK', url: webhook.url }, { kind: 'WEBHOOK', url: webhook.url, headers }]) {
      await alerted.put('again', body);
      const shown = await alerted.get('again');
      const put = await alerted.call('PUT', 'again', shown);
      expect([put.status, put.body]).toEqual([200, { ...shown, updated_datetime: expect.any(String) }]);
    }
    const stored = () => app.given.sql(`SELECT header_values FROM alerts WHERE name = 'again'`);
    const [before] = await stored();
    const other = { kind: 'WEBHOOK', url: webhook.url, headers: [{ name: 'X-Other' }, ...headers] };
    const refused = await alerted.call('PUT', 'again', other);
    expect([refused.status, codesOf(refused)]).toEqual([400, ['/headers/0/value required']]);
    const moved = await alerted.call('PUT', 'again', { ...(await alerted.get('again')), url: 'https://127.0.0.1:9/' });
    expect([moved.status, codesOf(moved)]).toEqual([400, ['/headers auth_required']]);
    expect(await stored()).toEqual([before]);
    await alerted.call('DELETE', 'again');
  });

  it('PUT of an alert treats empty lists as omitted: an alert with an empty list of conditions reports every condition', async () => {
    const none = { account_codes: [], conditions: [] };
    const all = { account_codes: [], conditions: [...CONDITIONS] };
    expect(await alerted.put('empty', { ...EMAIL, ...none, headers: [] })).toMatchObject({ ...EMAIL, ...all });
    const hook = { kind: 'WEBHOOK', url: webhook.url, to: [] };
    expect(await alerted.put('empty', { ...hook, ...none })).toMatchObject({ ...hook, ...all });
    await alerted.call('DELETE', 'empty');
  });

  it('GET lists alerts page by page, and the audit log records each change to an alert', async () => {
    for (const name of ['a', 'b', 'c']) await alerted.put(name, EMAIL);
    const first = await alerted.call('GET', '?limit=2');
    expect(first.body.map(({ name }: { name: string }) => name)).toEqual(['c', 'b']);
    const next = /<([^>]+)>/.exec(first.headers.get('link')!)![1].replace(`${app.url}/admin/alerts/`, '');
    expect((await alerted.call('GET', next.replace(/^.*\?/, '?'))).body).toMatchObject([{ name: 'a' }]);
    const token = await app.given.operator();
    const audit = await app.call('GET', '/admin/audit?subject=a', { token });
    expect(audit.body).toMatchObject([{ action: 'alert.put', subject: 'a' }]);
    for (const name of ['a', 'b', 'c']) await alerted.call('DELETE', name);
  });

  it('PUT of an alert accepts the example in docs/operations.md', async () => {
    const document = readFileSync(join(__dirname, '../../docs/operations.md'), 'utf8');
    const [, block] = /^## Alerts$[^]*?```json\n([^]*?)```/m.exec(document)!;
    const account = await app.given.account();
    const example = JSON.parse(block.replace('K7MWQ2XA9PDR', account)) as Record<string, unknown>;
    expect(await alerted.put('example', example)).toMatchObject(example);
    await alerted.call('DELETE', 'example');
  });

  it('the service refuses an invalid alert, and reports all its faults in one response', async () => {
    const answer = await alerted.call('PUT', 'wrong', {
      kind: 'EMAIL',
      to: ['nobody', 'ada@example.org'],
      url: 'http://hooks.example/',
      headers: [{ name: 'Host', value: 'x' }],
      conditions: ['PARTNER_SLEEPS'],
      quiet_s: -1,
      disabled: 'yes',
      condition: [],
    });
    expect(answer.status).toBe(400);
    expect(codesOf(answer)).toEqual([
      '/condition unknown_field',
      '/conditions/0 condition_unknown',
      '/disabled type_invalid',
      '/headers member_of_other_kind',
      '/headers/0/name header_reserved',
      '/quiet_s out_of_range',
      '/to/0 email_invalid',
      '/url member_of_other_kind',
      '/url url_scheme',
    ]);
  });

  it.each([
    ['an EMAIL alert without recipients', { kind: 'EMAIL' }, ['/to required']],
    ['an EMAIL alert with no recipient', { kind: 'EMAIL', to: [] }, ['/to required']],
    ['a WEBHOOK without an address', { kind: 'WEBHOOK' }, ['/url required']],
    ['an alert without a kind', { to: EMAIL.to }, ['/kind required']],
    ['an unknown kind', { ...EMAIL, kind: 'PAGER', url: webhookUrl }, ['/kind alert_kind_unknown']],
    ['an unknown account', { ...EMAIL, account_codes: ['NOBODY'] }, ['/account_codes/0 account_not_found']],
    [
      'a private address and an unknown account',
      { kind: 'WEBHOOK', url: 'https://10.1.2.3/hook', account_codes: ['NOBODY'] },
      ['/account_codes/0 account_not_found', '/url address_blocked'],
    ],
    ['an address with a password', { kind: 'WEBHOOK', url: 'https://a:b@hooks.example/' }, ['/url url_userinfo']],
  ])('a PUT of an alert gets 400 and stores nothing: %s', async (_what, body, faults) => {
    const answer = await alerted.call('PUT', 'refused', body);
    expect([answer.status, codesOf(answer)]).toEqual([400, faults]);
    expect((await alerted.call('GET', 'refused')).status).toBe(404);
  });

  it('without a mail server, the service refuses an EMAIL alert and accepts a WEBHOOK alert', async () => {
    const without = await startApp({ databaseUrl: app.databaseUrl });
    try {
      const token = await without.given.operator();
      const put = (body: object) => without.call('PUT', '/admin/alerts/unsent', { token, body });
      const refused = await put(EMAIL);
      expect([refused.status, refused.body.code]).toEqual([400, 'mail_not_configured']);
      const both = await put({ ...EMAIL, account_codes: ['NOBODY'] });
      expect(both.body.code).toBe('validation_error');
      expect(codesOf(both)).toEqual(['/account_codes/0 account_not_found', '/kind mail_not_configured']);
      expect((await put({ kind: 'WEBHOOK', url: webhook.url })).status).toBe(200);
      await alerted.put('unsent', EMAIL);
      const test = await without.call('POST', '/admin/alerts/unsent/test', { token });
      expect([test.status, test.body.code]).toEqual([400, 'mail_not_configured']);
    } finally {
      await alerted.call('DELETE', 'unsent');
      await without.close();
    }
  });

  it('the header values of an alert are encrypted, never shown, kept if a PUT omits headers, and sent to no other host', async () => {
    const hook = { kind: 'WEBHOOK', url: `${webhook.url}/hook?key=1` };
    const headers = [{ name: 'Authorization', value: 'Bearer very-secret' }];
    const created = await alerted.put('hook', { ...hook, headers });
    expect(created['headers']).toEqual([{ name: 'Authorization' }]);
    const [row] = await app.given.sql(`SELECT to_jsonb(a)::text AS text FROM alerts a WHERE name = 'hook'`);
    expect(row['text']).not.toContain('very-secret');
    expect(row['text']).not.toContain(Buffer.from('very-secret').toString('hex'));
    expect(await alerted.put('hook', { ...hook, quiet_s: 1 })).toMatchObject({ headers: [{ name: 'Authorization' }] });
    const moved = await alerted.call('PUT', 'hook', { ...hook, url: 'https://127.0.0.1:9/' });
    expect([moved.status, codesOf(moved)]).toEqual([400, ['/headers auth_required']]);
    expect(await alerted.put('hook', { ...hook, headers: null })).toMatchObject({ headers: [] });
    await alerted.call('DELETE', 'hook');
  });
});

describe('a test message', () => {
  it('the test message of an alert arrives by mail over TLS, as text and as HTML, with a link to the console', async () => {
    await alerted.put('by mail', { ...EMAIL, to: ['ada@example.org', 'bob@example.org'], disabled: true });
    const sent = await alerted.call('POST', 'by%20mail/test');
    expect(sent.status).toBe(200);
    expect(sent.body).toMatchObject({ last_error: null });
    expect(sent.body.last_sent_datetime).not.toBeNull();
    const received = await mail.received(/This is a test of the alert by mail/);
    expect(received).toMatchObject({ recipients: ['ada@example.org', 'bob@example.org'], isEncrypted: true });
    expect(received.user).toBe('alerts');
    expect(received.headers).toMatchObject({ from: 'Exams <exams@example.org>', 'auto-submitted': 'auto-generated' });
    expect(received.text).toContain('Nothing is wrong.');
    expect(received.text).toContain(`${app.url}/console/setup/alerts`);
    expect(received.html).toContain(`<a href="${app.url}/console/setup/alerts">Open the console</a>`);
    expect(received.html).not.toMatch(/<(script|img|link)/);
    await alerted.call('DELETE', 'by%20mail');
  });

  it('the test message of an alert arrives at a webhook as JSON, with the headers of the alert', async () => {
    const headers = [{ name: 'Authorization', value: 'Bearer very-secret' }];
    await alerted.put('hook', { kind: 'WEBHOOK', url: `${webhook.url}/hook?key=1`, headers });
    webhook.answer({ status: 202 });
    expect((await alerted.call('POST', 'hook/test')).status).toBe(200);
    const [request] = await webhook.received(1);
    expect(request).toMatchObject({ method: 'POST', path: '/hook?key=1' });
    expect(request.headers).toMatchObject({ authorization: 'Bearer very-secret', 'content-type': 'application/json' });
    expect(request.json).toMatchObject({
      id: request.headers['webhook-id'],
      alert: 'hook',
      condition: 'TEST',
      title: 'This is a test of the alert hook',
      url: `${app.url}/console/setup/alerts`,
    });
    await alerted.call('DELETE', 'hook');
  });

  it('if the test message of an alert fails, the response is 400 with the cause, without secrets or addresses, and GET shows the cause', async () => {
    await alerted.put('hook', { kind: 'WEBHOOK', url: webhook.url });
    webhook.answer({ status: 302, headers: { location: `${webhook.url}/elsewhere` } });
    const redirected = await alerted.call('POST', 'hook/test');
    expect(redirected.body).toMatchObject({ code: 'alert_not_delivered', failure: 'redirect', http_status: 302 });
    expect(await alerted.get('hook')).toMatchObject({ last_error: 'The webhook answered with status 302' });
    await webhook.goDown();
    const down = await alerted.call('POST', 'hook/test');
    expect(down.body).toMatchObject({ code: 'alert_not_delivered', failure: 'connect', reason: 'ECONNREFUSED' });
    await webhook.comeUp();
    await alerted.put('mail', { ...EMAIL });
    mail.refusal = 550;
    const refused = await alerted.call('POST', 'mail/test');
    mail.refusal = null;
    expect(refused.body).toMatchObject({ code: 'alert_not_delivered', failure: 'mail' });
    expect(refused.text).not.toMatch(/somebody@example|pass\/word/);
    expect(await alerted.get('mail')).toMatchObject({
      last_error: 'The mail server refused the message (EMESSAGE 550)',
    });
    for (const name of ['hook', 'mail']) await alerted.call('DELETE', name);
  });
});
