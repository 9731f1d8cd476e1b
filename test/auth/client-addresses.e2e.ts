import { startApp, type TestApp } from '../support/app';
import { OAuth } from '../support/oauth';

/**
 * Ports of connections from one client. Some gateways add the port to the address in the `X-Forwarded-For` header, so
 * the header has a different value for each connection.
 */
const PORTS = [41001, 41002, 41003, 41004];
const FORMS: [string, (port: number) => string][] = [
  ['an address and a port', (port) => `203.0.113.9:${port}`],
  ['an IPv6 address in brackets and a port', (port) => `[2001:db8:9::${port % 10}]:${port}`],
  [
    'an IPv4 address mapped to IPv6, in every way to write it',
    (port) => (port % 2 ? '::ffff:cb00:7107' : '203.0.113.7'),
  ],
  ['a word instead of an address', (port) => `unknown-${port}`],
  ['proxies with ports behind the address', (port) => `198.51.100.9, 203.0.113.11:${port}`],
];

describe.each(['1', 'loopback'])('behind a gateway (TRUST_PROXY=%s)', (trustProxy) => {
  let app: TestApp;
  let oauth: OAuth;

  beforeAll(async () => {
    const env = { TRUST_PROXY: trustProxy, TOKEN_RATE_LIMIT_PER_MINUTE: '60' };
    app = await startApp({ env });
    oauth = new OAuth(app);
  });
  afterAll(() => app.close());
  beforeEach(() => app.given.sql('TRUNCATE token_request_counts, token_refusals, login_attempts'));

  it.each(FORMS)(
    'requests from one address count as one client, even if the gateway writes ports into X-Forwarded-For: %s',
    async (_form, entryOf) => {
      const login = await oauth.login();
      const headersOf = (port: number) => ({ 'x-forwarded-for': entryOf(port) });
      const answers: number[] = [];
      for (const port of PORTS) {
        const { username } = login;
        const form = { grant_type: 'password', username, password: 'wrong' };
        answers.push((await oauth.post('/token', login, form, headersOf(port))).status);
        const headers = { 'console-request': '1', ...headersOf(port) };
        const body = { username, password: 'wrong' };
        answers.push((await app.call('POST', '/console/session', { body, headers })).status);
      }
      expect(answers).toEqual(PORTS.flatMap(() => [400, 403]));
      const addresses = (table: string) => app.given.sql(`SELECT DISTINCT address_mac FROM ${table}`);
      expect(await addresses('token_request_counts')).toHaveLength(1);
      expect(await addresses('token_refusals')).toHaveLength(1);
      const locks = await app.given.sql(`SELECT 1 FROM login_attempts WHERE consumer_key LIKE 'CONSOLE%'`);
      expect(locks).toHaveLength(1);
    },
  );
});

it('clients behind an inner proxy are distinguished, even if X-Forwarded-For contains a port after the address of the proxy', async () => {
  const app = await startApp({ env: { TRUST_PROXY: 'loopback,10.0.0.0/8', TOKEN_RATE_LIMIT_PER_MINUTE: '60' } });
  try {
    const oauth = new OAuth(app);
    const login = await oauth.login();
    const form = { grant_type: 'refresh_token', refresh_token: 'none' };
    for (const client of ['203.0.113.1:5001', '203.0.113.1:5002', '203.0.113.2:5003'])
      await oauth.post('/token', login, form, { 'x-forwarded-for': `${client}, 10.0.0.5:${client.slice(-4)}` });
    const counted = await app.given.sql(
      'SELECT sum(requests)::int AS requests FROM token_request_counts GROUP BY address_mac ORDER BY 1',
    );
    expect(counted).toEqual([{ requests: 1 }, { requests: 2 }]);
  } finally {
    await app.close();
  }
});
