import { startApp, type TestApp } from '../support/app';
import { sharedCertificates, startPartner, type Partner } from '../support/partner';

let app: TestApp;
let operator: string;
let account: string;

beforeAll(async () => {
  app = await startApp();
  operator = await app.given.operator();
});
beforeEach(async () => {
  account = await app.given.account();
});
afterAll(() => app.close());

const call = (method: string, path: string, body?: unknown) =>
  app.call(method, `/admin/subscriptions${path}`, { token: operator, body });
const create = (partner_url: string, settings: object = {}) =>
  call('POST', '', { account_code: account, partner_url, ...settings });
const faultsOf = (errors: { pointer: string; code: string }[]) => errors.map(({ pointer, code }) => [pointer, code]);

describe('credentials of a subscription whose host changes', () => {
  const OLD = 'https://partner.example/hooks';
  const ELSEWHERE = 'https://other.example/hooks';
  const oauth2 = {
    type: 'oauth2_client_credentials',
    token_url: 'https://login.example/token',
    client_id: 'svc',
    client_secret: 'of the old host',
  };
  const headers = [{ name: 'X-Api-Key', value: 'of the old host' }];
  const WAYS: [string, object][] = [
    ['a password', { type: 'basic', username: 'svc', password: 'of the old host' }],
    ['a token', { type: 'bearer', token: 'of-the-old-host' }],
    ['headers', { type: 'headers', headers }],
    ['headers beside no other way', { type: 'none', headers }],
    ['OAuth 2.0', oauth2],
    ['OAuth 2.0 with a key', { ...oauth2, client_secret: undefined, client_auth: 'private_key_jwt' }],
  ];

  test.each(WAYS)('requires %s again when the host of a subscription changes', async (_, auth) => {
    const { id, auth: shown } = (await create(OLD, { auth })).body;
    const refused = await call('PATCH', `/${id}`, { partner_url: ELSEWHERE, wait_ms: 2000 });
    expect([refused.status, refused.body.code, faultsOf(refused.body.errors)]).toEqual([
      400,
      'auth_required',
      [['/auth', 'auth_required']],
    ]);
    expect((await call('GET', `/${id}`)).body).toMatchObject({ partner_url: OLD, auth: shown, wait_ms: null });
    const moved = await call('PATCH', `/${id}`, { partner_url: ELSEWHERE, auth });
    expect([moved.status, moved.body.partner_url]).toEqual([200, ELSEWHERE]);
  });

  test('setting auth to null removes the credentials of a subscription when its host changes', async () => {
    const { id } = (await create(OLD, { auth: { type: 'bearer', token: 'of-the-old-host' } })).body;
    const moved = await call('PATCH', `/${id}`, { partner_url: ELSEWHERE, auth: null });
    expect([moved.status, moved.body.auth]).toEqual([200, { type: 'none' }]);
    expect((await call('PATCH', `/${id}`, { partner_url: OLD })).status).toBe(200);
  });

  test('requires the client certificate and its key to be sent again or removed when the host of a subscription changes', async () => {
    const { client } = await sharedCertificates();
    const certificate = { client_cert_pem: client.certPem, client_key_pem: client.keyPem };
    const { id } = (await create(OLD, { ...certificate, auth: { type: 'bearer', token: 'x' } })).body;
    const refused = await call('PATCH', `/${id}`, { partner_url: ELSEWHERE });
    expect([refused.body.code, faultsOf(refused.body.errors)]).toEqual([
      'auth_required',
      [
        ['/auth', 'auth_required'],
        ['/client_key_pem', 'auth_required'],
      ],
    ]);
    expect((await call('PATCH', `/${id}`, { partner_url: ELSEWHERE, auth: null })).body.code).toBe('auth_required');
    expect((await call('PATCH', `/${id}`, { partner_url: ELSEWHERE, auth: null, ...certificate })).status).toBe(200);
    const without = { client_cert_pem: null, client_key_pem: null };
    expect((await call('PATCH', `/${id}`, { partner_url: OLD, ...without })).status).toBe(200);
  });

  test('reports a missing `auth` member together with the other faults of a request that changes the host', async () => {
    const { id } = (await create(OLD, { auth: { type: 'bearer', token: 'x' } })).body;
    const refused = await call('PATCH', `/${id}`, { partner_url: 'https://10.0.0.1/', ca_pem: 'none' });
    expect([refused.status, refused.body.code, faultsOf(refused.body.errors).sort()]).toEqual([
      400,
      'validation_error',
      [
        ['/auth', 'auth_required'],
        ['/ca_pem', 'certificate_invalid'],
        ['/partner_url', 'address_blocked'],
      ],
    ]);
  });

  test.each([`${OLD}/v2`, 'https://partner.example:8443/hooks', 'https://PARTNER.example./hooks'])(
    'a subscription keeps its credentials when its address changes to %s, on the same host',
    async (partner_url) => {
      const { id } = (await create(OLD, { auth: { type: 'bearer', token: 'x' } })).body;
      expect((await call('PATCH', `/${id}`, { partner_url })).status).toBe(200);
    },
  );

  test('requires the complete `auth` member, with its secret, when the host of token_url changes', async () => {
    const { id } = (await create(OLD, { auth: oauth2 })).body;
    const { client_secret: _, ...rest } = oauth2;
    const refused = await call('PATCH', `/${id}`, { auth: { ...rest, token_url: 'https://elsewhere.example/token' } });
    expect([refused.status, faultsOf(refused.body.errors)]).toEqual([400, [['/auth/client_secret', 'required']]]);
  });
});

describe('the same address in another spelling', () => {
  let partner: Partner;

  beforeEach(async () => {
    partner = await startPartner();
  });
  afterEach(() => partner.stop());

  test('keeps a subscription verified when its address is sent in a different spelling', async () => {
    const port = new URL(partner.url).port;
    const { id } = (await create(`${partner.url}/a~b/%2f`, { ca_pem: partner.caPem })).body;
    expect((await call('POST', `/${id}/verify`)).body.state).toBe('ACTIVE');
    for (const spelling of [
      `HTTPS://LOCALHOST:0${port}/a~b/%2f`,
      `https://localhost.:${port}/a%7Eb/%2F/`,
      `https://LocalHost:${port}/x/../%61~b/./%2f//`,
    ]) {
      const answer = await call('PATCH', `/${id}`, { partner_url: spelling });
      expect(answer.body).toMatchObject({ state: 'ACTIVE', partner_url: spelling });
    }
    partner.requests.length = 0;
    expect((await call('POST', `/${id}/verify`)).status).toBe(200);
    expect(partner.requests.map(({ path, headers: { host } }) => [path, host])).toEqual([
      ['/a~b/%2F/notifications', `localhost:${port}`],
    ]);
    for (const other of [`${partner.url}/a~b`, `${partner.url}/A~b/%2f`])
      expect((await call('PATCH', `/${id}`, { partner_url: other })).body.state).toBe('UNVERIFIED');
  });

  test('accepts two subscriptions of one account that have the same address, and returns a warning', async () => {
    const first = await create('https://bücher.example/hooks', {});
    expect([first.status, first.body.warnings]).toEqual([201, []]);
    const warned = [expect.objectContaining({ pointer: '/partner_url', code: 'address_repeated' })];
    const second = await create('https://XN--BCHER-KVA.example.:443/hooks/');
    expect([second.status, second.body.warnings]).toEqual([201, warned]);
    expect((await call('GET', `/${first.body.id}`)).body.warnings).toEqual(warned);
    const list = await call('GET', `?account_code=${account}`);
    expect(list.body.map((row: any) => row.warnings)).toEqual([warned, warned]);
    const other = await app.given.account();
    const elsewhere = await call('POST', '', { account_code: other, partner_url: 'https://bücher.example/hooks' });
    expect(elsewhere.body.warnings).toEqual([]);
    const moved = await call('PATCH', `/${second.body.id}`, { partner_url: 'https://bücher.example/other' });
    expect(moved.body.warnings).toEqual([]);
    const back = await call('PATCH', `/${second.body.id}`, { partner_url: 'https://bücher.example/hooks' });
    expect(back.body.warnings).toEqual(warned);
    await call('DELETE', `/${second.body.id}`);
    expect((await call('GET', `/${first.body.id}`)).body.warnings).toEqual([]);
  });
});

describe('an invalid address in the database', () => {
  test.each(['javascript:x=1', 'https://a..example'])(
    'a subscription with an invalid address in the database can be read and changed: %s',
    async (unchecked) => {
      const { id } = (await create('https://partner.example/hooks')).body;
      await app.given.sql('UPDATE subscriptions SET partner_url = $2 WHERE id = $1', [id, unchecked]);
      expect((await call('GET', `/${id}`)).body.partner_url).toBe(unchecked);
      const replaced = await call('PATCH', `/${id}`, { partner_url: 'https://partner.example/hooks' });
      expect([replaced.status, replaced.body.state]).toEqual([200, 'UNVERIFIED']);
    },
  );
});

describe('settings with which every request would fail', () => {
  const LABEL = 'a'.repeat(64);
  const LONG = `${`${'a'.repeat(49)}.`.repeat(5)}example`;
  const ADDRESSES: [string, string][] = [
    ['https://partner.example:0/x', 'url_port'],
    ['https://a..example/x', 'url_host'],
    ['https://.example/x', 'url_host'],
    ['https://partner.example../x', 'url_host'],
    [`https://${LABEL}.example/x`, 'url_host'],
    [`https://${LONG}/x`, 'url_host'],
    [`https://${'ü'.repeat(60)}.example/x`, 'url_host'],
  ];

  test.each(ADDRESSES)(
    'refuses a partner_url or token_url at which every request would fail: %s',
    async (address, code) => {
      const auth = { type: 'oauth2_client_credentials', client_id: 'svc', client_secret: 'x', token_url: address };
      const refused = await create(address, { auth });
      expect([refused.status, faultsOf(refused.body.errors).sort()]).toEqual([
        400,
        [
          ['/auth/token_url', code],
          ['/partner_url', code],
        ],
      ]);
      const { id } = (await create('https://partner.example/')).body;
      for (const body of [{ partner_url: address }, { auth }])
        expect((await call('PATCH', `/${id}`, body)).body.errors[0].code).toBe(code);
    },
  );

  test('accepts a subscription with the longest valid host name', async () => {
    for (const host of [`${LABEL.slice(1)}.example`, `${LONG.slice(4)}`])
      expect((await create(`https://${host}/`)).status).toBe(201);
  });

  test('refuses a subscription with an expired client certificate, or with a certificate and a key that do not match', async () => {
    const { expired, client, foreignClient } = await sharedCertificates();
    const pairs: [object, string, string][] = [
      [{ client_cert_pem: expired.certPem, client_key_pem: expired.keyPem }, '/client_cert_pem', 'certificate_expired'],
      [{ client_cert_pem: client.certPem, client_key_pem: foreignClient.keyPem }, '/client_key_pem', 'key_mismatch'],
    ];
    const { id } = (await create('https://partner.example/')).body;
    for (const [pair, pointer, code] of pairs)
      for (const answer of [await create('https://partner.example/', pair), await call('PATCH', `/${id}`, pair)])
        expect([answer.status, faultsOf(answer.body.errors)]).toEqual([400, [[pointer, code]]]);
  });
});
