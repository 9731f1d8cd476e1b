import { createLocalJWKSet, jwtVerify } from 'jose';
import { startApp, type TestApp } from '../support/app';
import { sharedCertificates, startPartner, type Partner } from '../support/partner';

let app: TestApp;
let operator: string;
let account: string;
let partner: Partner;

beforeAll(async () => {
  app = await startApp();
  operator = await app.given.operator();
  account = await app.given.account();
  partner = await startPartner({ oauth: { clientId: 'svc', clientSecret: 'the client secret' } });
});
afterAll(async () => {
  await partner.stop();
  await app.close();
});

const call = (method: string, path: string, body?: unknown) =>
  app.call(method, `/admin/subscriptions${path}`, { token: operator, body });
const minimal = (changes: object = {}) => ({
  account_code: account,
  partner_url: 'https://partner.example/hooks/',
  ...changes,
});
const REASONS = [
  'BOOKING_CREATED',
  'BOOKING_CANCELLED',
  'BOOKING_RESCHEDULED',
  'EXAM_COMPLETED',
  'EXCUSED_ABSENT',
  'ABSENT',
];

test('creates a subscription from the required members alone', async () => {
  const created = await call('POST', '', minimal());
  expect(created.status).toBe(201);
  const { signing_secret, ...shown } = created.body;
  expect(signing_secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(shown).toEqual({
    id: expect.any(String),
    account_code: account,
    name: null,
    partner_url: 'https://partner.example/hooks/',
    change_reasons: REASONS,
    record_changes: [],
    auth: { type: 'none' },
    ca_pem: null,
    delivery: 'PUSH',
    client_cert_pem: null,
    warnings: [],
    wait_ms: null,
    auto_retry_on: ['500', '429'],
    max_per_second: null,
    state: 'UNVERIFIED',
    suspended_by: null,
    health: 'UP',
    next_probe_at: null,
    failing_since: null,
    paused_until: null,
    pace: null,
    created_datetime: expect.any(String),
    updated_datetime: expect.any(String),
  });
  expect((await call('GET', `/${shown.id}`)).body).toEqual(shown);
  expect((await call('GET', '?limit=1')).body).toEqual([shown]);
  expect((await call('GET', `?account_code=${account}`)).body).toContainEqual(shown);
});

test.each([
  [
    { type: 'basic', username: 'svc', password: 'p4ss:word' },
    { type: 'basic', username: 'svc' },
  ],
  [{ type: 'bearer', token: 'a-bearer-token' }, { type: 'bearer' }],
  [
    {
      type: 'oauth2_client_credentials',
      token_url: 'https://partner.example/token',
      client_id: 'svc',
      client_secret: 'a-client-secret',
    },
    {
      type: 'oauth2_client_credentials',
      token_url: 'https://partner.example/token',
      client_id: 'svc',
      client_auth: 'basic',
      scope: null,
      audience: null,
      resource: null,
    },
  ],
  [
    {
      type: 'oauth2_client_credentials',
      token_url: 'https://partner.example/token',
      client_id: 'svc',
      client_auth: 'private_key_jwt',
      audience: 'https://api.partner.example/',
      resource: 'https://partner.example/events',
      headers: [{ name: 'X-Api-Key', value: 'another-client-secret' }],
    },
    {
      type: 'oauth2_client_credentials',
      token_url: 'https://partner.example/token',
      client_id: 'svc',
      client_auth: 'private_key_jwt',
      scope: null,
      audience: 'https://api.partner.example/',
      resource: 'https://partner.example/events',
      headers: [{ name: 'X-Api-Key' }],
    },
  ],
  [
    { type: 'headers', headers: [{ name: 'Authorization', value: 'ApiKey a-key-of-ours' }] },
    { type: 'headers', headers: [{ name: 'Authorization' }] },
  ],
])('never returns the secrets of a subscription, and stores them encrypted: %j', async (auth, shown) => {
  const created = await call('POST', '', minimal({ auth }));
  expect(created.body.auth).toEqual(shown);
  const { headers = [], ...members } = auth as { headers?: { value: string }[] };
  const own = Object.entries(members).find(([name]) => ['password', 'token', 'client_secret'].includes(name));
  const secret = headers[0]?.value ?? (own![1] as string);
  expect((await call('GET', `/${created.body.id}`)).text).not.toContain(secret);
  const [row] = await app.given.sql('SELECT subscriptions::text AS row FROM subscriptions WHERE id = $1', [
    created.body.id,
  ]);
  expect(row['row']).not.toContain(secret);
  expect(row['row']).not.toContain(Buffer.from(secret).toString('hex'));
});

test('a subscription can have a name, which a PATCH replaces or clears', async () => {
  const { id, ...created } = (await call('POST', '', minimal({ name: 'State Board of Ohio' }))).body;
  expect(created.name).toBe('State Board of Ohio');
  expect((await call('PATCH', `/${id}`, { wait_ms: 2000 })).body.name).toBe('State Board of Ohio');
  expect((await call('PATCH', `/${id}`, { name: 'Board' })).body).toMatchObject({ name: 'Board', state: 'UNVERIFIED' });
  for (const name of ['', ' ', '\u0007', 'x'.repeat(101)])
    expect((await call('PATCH', `/${id}`, { name })).body.errors).toMatchObject([{ pointer: '/name' }]);
  const { body } = await app.call('GET', `/admin/partners?account_code=${account}&limit=1`, { token: operator });
  expect(body).toMatchObject([{ subscription_id: id, subscription_name: 'Board' }]);
  expect((await call('PATCH', `/${id}`, { name: null })).body.name).toBeNull();
});

test('returns the certificates of a subscription, but never its private key', async () => {
  const { client, authority } = await sharedCertificates();
  const body = { ca_pem: authority.certPem, client_cert_pem: client.certPem, client_key_pem: client.keyPem };
  const created = await call('POST', '', minimal(body));
  expect(created.body).toMatchObject({ ca_pem: authority.certPem, client_cert_pem: client.certPem });
  expect(created.text).not.toContain('PRIVATE');
  const cleared = await call('PATCH', `/${created.body.id}`, {
    client_cert_pem: null,
    client_key_pem: null,
    ca_pem: null,
  });
  expect(cleared.body).toMatchObject({ ca_pem: null, client_cert_pem: null });
});

test.each<[object, string, string]>([
  [{ account_code: undefined }, '/account_code', 'required'],
  [{ account_code: 'NOBODY' }, '/account_code', 'account_not_found'],
  [{ partner_url: undefined }, '/partner_url', 'required'],
  [{ partner_url: 'http://partner.example' }, '/partner_url', 'url_scheme'],
  [{ partner_url: 'partner.example' }, '/partner_url', 'url_invalid'],
  [{ partner_url: 'https://partner.example/?a=b' }, '/partner_url', 'url_query'],
  [{ partner_url: 'https://partner.example/#a' }, '/partner_url', 'url_fragment'],
  [{ partner_url: 'https://me:secret@partner.example' }, '/partner_url', 'url_userinfo'],
  [{ partner_url: 'https://10.0.0.1/' }, '/partner_url', 'address_blocked'],
  [{ partner_url: 'https://169.254.169.254/' }, '/partner_url', 'address_blocked'],
  [{ partner_url: 'https://[fd00::1]/' }, '/partner_url', 'address_blocked'],
  [{ partner_url: 'https://0x0a000001/' }, '/partner_url', 'address_blocked'],
  [{ change_reasons: ['EXPLODED'] }, '/change_reasons/0', 'change_reason_unknown'],
  [{ change_reasons: [] }, '/change_reasons', 'too_few'],
  [{ auth: 'basic' }, '/auth', 'type_invalid'],
  [{ auth: {} }, '/auth/type', 'required'],
  [{ auth: { type: 'magic' } }, '/auth/type', 'auth_type_unknown'],
  [{ auth: { type: 'basic', username: 'svc' } }, '/auth/password', 'required'],
  [{ auth: { type: 'basic', username: 'a:b', password: 'x' } }, '/auth/username', 'format_invalid'],
  [{ auth: { type: 'bearer', token: 'a b' } }, '/auth/token', 'format_invalid'],
  [{ auth: { type: 'none', token: 'x' } }, '/auth/token', 'unknown_field'],
  [
    { auth: { type: 'oauth2_client_credentials', token_url: 'http://x.example', client_id: 'a', client_secret: 'b' } },
    '/auth/token_url',
    'url_scheme',
  ],
  [
    {
      auth: { type: 'oauth2_client_credentials', token_url: 'https://10.0.0.1/t', client_id: 'a', client_secret: 'b' },
    },
    '/auth/token_url',
    'address_blocked',
  ],
  [{ auth: { type: 'headers' } }, '/auth/headers', 'required'],
  [{ auth: { type: 'headers', headers: [] } }, '/auth/headers', 'too_few'],
  [{ auth: { type: 'headers', headers: 'x' } }, '/auth/headers', 'type_invalid'],
  [{ auth: { type: 'headers', headers: ['x'] } }, '/auth/headers/0', 'type_invalid'],
  [{ auth: { type: 'headers', headers: [{ name: 'x' }] } }, '/auth/headers/0/value', 'required'],
  [{ auth: { type: 'headers', headers: [{ name: 'a b', value: 'x' }] } }, '/auth/headers/0/name', 'format_invalid'],
  [{ auth: { type: 'headers', headers: [{ name: 'a', value: ' x' }] } }, '/auth/headers/0/value', 'format_invalid'],
  [{ auth: { type: 'headers', headers: [{ name: 'a', value: 'ä' }] } }, '/auth/headers/0/value', 'format_invalid'],
  [
    { auth: { type: 'headers', headers: [{ name: 'a', value: 'x\r\nb: c' }] } },
    '/auth/headers/0/value',
    'control_character',
  ],
  [
    { auth: { type: 'headers', headers: Array.from({ length: 11 }, (_, at) => ({ name: `h${at}`, value: 'x' })) } },
    '/auth/headers',
    'too_many',
  ],
  [
    { auth: { type: 'none', headers: ['a', 'A'].map((name) => ({ name, value: 'x' })) } },
    '/auth/headers/1/name',
    'header_repeated',
  ],
  ...[
    'Content-Type',
    'webhook-id',
    'Webhook-Signature',
    'event-sequence',
    'traceparent',
    'User-Agent',
    'Accept-Encoding',
    'Host',
    'Content-Length',
    'Transfer-Encoding',
    'Connection',
    'TE',
    'Upgrade',
    'Expect',
    'Proxy-Authorization',
    'Cache-Control',
    'If-None-Match',
  ].map((name): [object, string, string] => [
    { auth: { type: 'headers', headers: [{ name, value: 'x' }] } },
    '/auth/headers/0/name',
    'header_reserved',
  ]),
  [
    { auth: { type: 'bearer', token: 'x', headers: [{ name: 'authorization', value: 'x' }] } },
    '/auth/headers/0/name',
    'header_reserved',
  ],
  ...(
    [
      [{ client_secret: 'b', client_auth: 'guess' }, 'client_auth', 'client_auth_unknown'],
      [{ client_secret: 'b', client_auth: 'private_key_jwt' }, 'client_secret', 'unknown_field'],
      [{ client_auth: 'post' }, 'client_secret', 'required'],
      [{ client_secret: 'b', resource: 'events' }, 'resource', 'format_invalid'],
    ] as [object, string, string][]
  ).map(([members, name, code]): [object, string, string] => [
    {
      auth: {
        type: 'oauth2_client_credentials',
        token_url: 'https://partner.example/token',
        client_id: 'a',
        ...members,
      },
    },
    `/auth/${name}`,
    code,
  ]),
  [{ ca_pem: 'no certificate' }, '/ca_pem', 'certificate_invalid'],
  [{ client_key_pem: 'x' }, '/client_cert_pem', 'certificate_missing'],
  [{ wait_ms: 999 }, '/wait_ms', 'out_of_range'],
  [{ wait_ms: 60_001 }, '/wait_ms', 'out_of_range'],
  [{ auto_retry_on: ['404'] }, '/auto_retry_on/0', 'auto_retry_unknown'],
  [{ state: 'ACTIVE' }, '/state', 'unknown_field'],
])('refuses a subscription with %j', async (changes, pointer, code) => {
  const answer = await call('POST', '', minimal(changes));
  expect(answer.status).toBe(400);
  expect(answer.body.errors).toEqual([expect.objectContaining({ pointer, code })]);
});

test('reports all faults in the addresses and certificates of a subscription at once, on create and on update', async () => {
  const wrong = { partner_url: 'https://10.0.0.1/', client_key_pem: 'x' };
  const created = await call('POST', '', minimal());
  for (const answer of [await call('POST', '', minimal(wrong)), await call('PATCH', `/${created.body.id}`, wrong)]) {
    expect(answer.status).toBe(400);
    const named = (answer.body.errors as { pointer: string; code: string }[]).map(
      ({ pointer, code }) => `${pointer} ${code}`,
    );
    expect(named.sort()).toEqual(['/client_cert_pem certificate_missing', '/partner_url address_blocked']);
  }
});

test("POST verify sends a complete, signed sample with the partner's authentication, and stores no notification", async () => {
  const created = await call('POST', '', {
    account_code: account,
    partner_url: partner.url,
    ca_pem: partner.caPem,
    auth: {
      type: 'oauth2_client_credentials',
      token_url: partner.tokenUrl,
      client_id: 'svc',
      client_secret: 'the client secret',
    },
  });
  const verified = await call('POST', `/${created.body.id}/verify`);
  expect([verified.status, verified.body.state]).toEqual([200, 'ACTIVE']);
  const [request] = await partner.received(1);
  expect(request.json).toMatchObject({ change_reason: 'BOOKING_CREATED', candidate_id: expect.any(String) });
  expect(request.headers).toMatchObject({
    authorization: expect.stringMatching(/^Bearer /),
    'webhook-signature': expect.stringMatching(/^v1,/),
  });
  expect(
    (await app.call('GET', `/admin/notifications?subscription_id=${created.body.id}`, { token: operator })).body,
  ).toEqual([]);
  const moved = await call('PATCH', `/${created.body.id}`, { partner_url: `${partner.url}/v2` });
  expect(moved.body.state).toBe('UNVERIFIED');
  for (const action of ['suspend', 'resume']) {
    const answer = await call('POST', `/${created.body.id}/${action}`);
    expect([answer.status, answer.body.code]).toEqual([409, 'subscription_unverified']);
  }
});

test('sends client assertions signed with a published key to the token endpoint, and only the token to the partner', async () => {
  const issuer = await startPartner({ oauth: { clientId: 'svc', clientSecret: 'unused' } });
  issuer.answerToken({ body: JSON.stringify({ access_token: 'abc', token_type: 'Bearer', expires_in: 60 }) });
  const other = await startPartner();
  const auth = { type: 'oauth2_client_credentials', token_url: issuer.tokenUrl, client_id: 'svc' };
  const created = await call('POST', '', {
    account_code: account,
    partner_url: other.url,
    ca_pem: other.caPem,
    auth: { ...auth, client_auth: 'private_key_jwt' },
  });
  expect((await call('POST', `/${created.body.id}/verify`)).body.state).toBe('ACTIVE');
  const form = new URLSearchParams(issuer.tokenRequests[0].raw.toString());
  expect(form.get('client_assertion_type')).toBe('urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
  const keys = (await app.call('GET', '/.well-known/jwks.json')).body;
  const { payload } = await jwtVerify(form.get('client_assertion')!, createLocalJWKSet(keys), {
    issuer: 'svc',
    subject: 'svc',
    audience: issuer.tokenUrl,
    maxTokenAge: 60,
  });
  expect([payload.jti?.length, payload.exp! - payload.iat!]).toEqual([36, 120]);
  expect(other.requests[0].headers.authorization).toBe('Bearer abc');
  await Promise.all([issuer.stop(), other.stop()]);
});

test('POST verify of a subscription returns the response of a partner that does not accept the sample', async () => {
  const other = await startPartner();
  other.answer({ status: 418, body: 'I am a teapot' });
  const created = await call('POST', '', { account_code: account, partner_url: other.url, ca_pem: other.caPem });
  const answer = await call('POST', `/${created.body.id}/verify`);
  expect(answer.status).toBe(400);
  expect(answer.body).toMatchObject({
    code: 'verification_failed',
    failure: 'client_error',
    http_status: 418,
    excerpt: 'I am a teapot',
  });
  expect((await call('GET', `/${created.body.id}`)).body.state).toBe('UNVERIFIED');
  other.answer({ bytes: '' });
  expect((await call('POST', `/${created.body.id}/verify`)).body).toMatchObject({
    failure: 'connect',
    reason: 'ECONNRESET',
  });
  await other.stop();
  expect((await call('POST', `/${created.body.id}/verify`)).body).toMatchObject({
    failure: 'connect',
    http_status: null,
  });
});

test('a PATCH changes only the members that it contains, and null restores the default of a member', async () => {
  const created = await call(
    'POST',
    '',
    minimal({ wait_ms: 5000, change_reasons: ['ABSENT'], auth: { type: 'bearer', token: 'x' } }),
  );
  const path = `/${created.body.id}`;
  expect((await call('PATCH', path, { wait_ms: 7000 })).body).toMatchObject({
    wait_ms: 7000,
    change_reasons: ['ABSENT'],
    auth: { type: 'bearer' },
  });
  const cleared = await call('PATCH', path, { wait_ms: null, change_reasons: null, auth: null, auto_retry_on: null });
  expect(cleared.body).toMatchObject({
    wait_ms: null,
    change_reasons: REASONS,
    auth: { type: 'none' },
    auto_retry_on: ['500', '429'],
  });
  expect((await call('PATCH', path, { partner_url: null })).body.errors[0]).toMatchObject({
    pointer: '/partner_url',
    code: 'required',
  });
  expect((await call('PATCH', path, { account_code: account })).body.errors[0]).toMatchObject({
    code: 'unknown_field',
  });
  const audit = await app.call('GET', `/admin/audit?subject=${created.body.id}`, { token: operator });
  expect(audit.body.map((entry: any) => entry.action)).toEqual([
    'subscription.change',
    'subscription.change',
    'subscription.create',
  ]);
});

test('returns 404 for a deleted or unknown subscription', async () => {
  const created = await call('POST', '', minimal());
  expect((await call('DELETE', `/${created.body.id}`)).status).toBe(204);
  for (const id of [created.body.id, 'nothing']) {
    expect((await call('GET', `/${id}`)).status).toBe(404);
    expect((await call('PATCH', `/${id}`, { wait_ms: 5000 })).status).toBe(404);
    expect((await call('DELETE', `/${id}`)).status).toBe(404);
    for (const action of ['verify', 'suspend', 'resume', 'rotate-secret'])
      expect((await call('POST', `/${id}/${action}`)).status).toBe(404);
  }
});
