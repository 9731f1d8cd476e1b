import { spawn } from 'node:child_process';
import { HttpModule, HttpService } from '@nestjs/axios';
import { Test } from '@nestjs/testing';
import { once } from 'node:events';
import { connect, createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createHttpServer } from 'node:http';
import { setTimeout as elapsed } from 'node:timers/promises';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';

import { AttemptNotBegun } from '../../src/notifications/partner/partner-connection.js';
import { PartnerAddressGuard } from '../../src/notifications/partner/partner-address.js';
import type { AddressLookup } from '../../src/notifications/partner/partner-names.js';
import {
  PartnerClient,
  type PartnerEndpoint,
  partnerHttpOptions,
} from '../../src/notifications/partner/partner-client.js';
import type { AttemptOutcome } from '../../src/notifications/partner/attempt-outcome.js';
import { IdleConnections } from '../../src/notifications/partner/partner-transport.js';
import {
  type Partner,
  type PartnerAnswer,
  type PartnerOptions,
  sharedCertificates,
  startPartner,
} from '../support/partner.js';
import { eventually } from '../support/eventually.js';

const LOOPBACK = ['127.0.0.0/8', '::1/128'];
const body = JSON.stringify({ booking_code: 'ABCDEFGH12', change_reason: 'BOOKING_CREATED' });
const headers = { 'content-type': 'application/json', 'webhook-id': 'msg_1' };
const CRLF = '\r\n';

const stops: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

async function aClient(
  allowedNetworks = LOOPBACK,
  lookup?: AddressLookup,
  idle?: IdleConnections,
): Promise<PartnerClient> {
  const module = await Test.createTestingModule({
    imports: [HttpModule.register(partnerHttpOptions)],
    providers: [
      { provide: PartnerAddressGuard, useValue: new PartnerAddressGuard(allowedNetworks) },
      lookup || idle
        ? {
            provide: PartnerClient,
            useFactory: (http: HttpService, guard: PartnerAddressGuard) => new PartnerClient(http, guard, lookup, idle),
            inject: [HttpService, PartnerAddressGuard],
          }
        : PartnerClient,
    ],
  }).compile();
  stops.push(() => module.close());
  return module.get(PartnerClient);
}

async function aPartner(options?: PartnerOptions): Promise<Partner> {
  const partner = await startPartner(options);
  stops.push(() => partner.stop());
  return partner;
}

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stops.push(() => new Promise((resolve) => server.close(resolve)));
  return `https://localhost:${(server.address() as AddressInfo).port}`;
}

function endpointOf(partner: Partner, changes: Partial<PartnerEndpoint> = {}): PartnerEndpoint {
  return {
    key: 'sub_1:1',
    url: partner.url,
    auth: { type: 'none' },
    caPem: partner.caPem,
    waitMs: 3000,
    connections: 4,
    ...changes,
  };
}

/** Makes one delivery attempt to a partner that sends the given response. */
async function attempt(answer: PartnerAnswer, changes: Partial<PartnerEndpoint> = {}) {
  const [client, partner] = await Promise.all([aClient(), aPartner()]);
  partner.answer(answer);
  const outcome = await client.put(endpointOf(partner, changes), headers, body);
  return { outcome, partner };
}

const summary = ({ delivered, httpStatus, failure }: AttemptOutcome) => ({ delivered, httpStatus, failure });
const failed = (failure: string, httpStatus: number | null = null) => ({ delivered: false, httpStatus, failure });
const delivered = { delivered: true, httpStatus: 200, failure: null };

describe('the request to a partner', () => {
  it("sends a PUT to {partner_url}/notifications with the service's headers and the unchanged bytes of the body", async () => {
    const { outcome, partner } = await attempt({ status: 200, body: '{"ok":true}' }, {});
    expect(outcome).toMatchObject({ ...delivered, reason: null, excerpt: '{"ok":true}' });
    expect(outcome.durationMs).toBeGreaterThanOrEqual(0);
    const [request] = partner.requests;
    expect(request).toMatchObject({ method: 'PUT', path: '/notifications' });
    expect(request.headers).toMatchObject({ ...headers, 'content-length': String(body.length) });
    expect(request.headers.authorization).toBeUndefined();
    expect(request.raw.toString()).toBe(body);
  });

  it.each(['/hook', '/hook/'])(
    'puts exactly one slash between the path %s of partner_url and "notifications"',
    async (path) => {
      const [client, partner] = await Promise.all([aClient(), aPartner()]);
      await client.put(endpointOf(partner, { url: partner.url + path }), headers, Buffer.from(body));
      expect(partner.requests[0]).toMatchObject({ path: '/hook/notifications', raw: Buffer.from(body) });
    },
  );

  it.each([
    [
      { type: 'basic', username: 'Ann:e', password: 'pä:ss' } as const,
      `Basic ${Buffer.from('Ann:e:pä:ss').toString('base64')}`,
    ],
    [{ type: 'bearer', token: 'abc.def' } as const, 'Bearer abc.def'],
    [
      { type: 'headers', headers: [{ name: 'Authorization', value: 'ApiKey abc' }] } satisfies PartnerEndpoint['auth'],
      'ApiKey abc',
    ],
  ])('sends the Authorization header that matches the auth setting %o', async (auth, expected) => {
    const [client, partner] = await Promise.all([aClient(), aPartner()]);
    await client.put(endpointOf(partner, { auth }), headers, body);
    expect(partner.requests[0].headers.authorization).toBe(expected);
  });

  it.each<PartnerEndpoint['auth']>([
    { type: 'none' },
    { type: 'headers' },
    { type: 'basic', username: 'ann', password: 'secret' },
    { type: 'bearer', token: 'abc.def' },
  ])(
    'sends the configured headers in addition to the auth setting %o, and requests uncompressed responses',
    async (auth) => {
      const [client, partner] = await Promise.all([aClient(), aPartner()]);
      const own = [
        { name: 'X-Api-Key', value: 'k3y with blanks' },
        { name: 'x-tenant', value: 't' },
      ];
      await client.put(endpointOf(partner, { auth: { ...auth, headers: own } }), headers, body);
      expect(partner.requests[0].headers).toMatchObject({
        ...headers,
        'x-api-key': 'k3y with blanks',
        'x-tenant': 't',
        'user-agent': 'candidate-eligibility-service',
        'accept-encoding': 'identity',
      });
    },
  );

  it('if the bearer token contains characters that a header must not contain, an attempt fails with failure class auth and sends no request', async () => {
    const [client, partner] = await Promise.all([aClient(), aPartner()]);
    const outcome = await client.put(
      endpointOf(partner, { auth: { type: 'bearer', token: 'a\r\nb: c' } }),
      headers,
      body,
    );
    expect(summary(outcome)).toEqual(failed('auth'));
    expect(partner.connections).toBe(0);
  });
});

describe('the answer of a partner', () => {
  const late = { waitMs: 1000 };
  const bomb = gzipSync(Buffer.alloc(20_000_000));
  const rows: [string, PartnerAnswer, object, Partial<PartnerEndpoint>?][] = [
    ['200', { status: 200 }, delivered],
    ['201', { status: 201 }, failed('protocol', 201)],
    ['202', { status: 202 }, failed('protocol', 202)],
    ['204', { status: 204 }, failed('protocol', 204)],
    ['206', { status: 206, body: 'x' }, failed('protocol', 206)],
    ['301 to a page that says 200', { status: 301, headers: { location: '/' } }, failed('redirect', 301)],
    ['302 to a page that says 200', { status: 302, headers: { location: '/' } }, failed('redirect', 302)],
    ['307 to a page that says 200', { status: 307, headers: { location: '/' } }, failed('redirect', 307)],
    ['308 to a page that says 200', { status: 308, headers: { location: '/' } }, failed('redirect', 308)],
    ['304', { status: 304 }, failed('redirect', 304)],
    ['400', { status: 400 }, failed('client_error', 400)],
    ['401', { status: 401 }, failed('auth', 401)],
    ['403', { status: 403 }, failed('auth', 403)],
    ['404', { status: 404 }, failed('client_error', 404)],
    ['429', { status: 429 }, failed('client_error', 429)],
    ['500', { status: 500 }, failed('server_error', 500)],
    ['503', { status: 503 }, failed('server_error', 503)],
    ['799', { bytes: `HTTP/1.1 799 What${CRLF}content-length: 0${CRLF}${CRLF}` }, failed('protocol', 799)],
    ['a 200 within the wait', { delayMs: 300 }, delivered],
    ['a 200 after the wait', { delayMs: 2000 }, failed('timeout'), late],
    ['silence', { endless: 'silence' }, failed('timeout'), late],
    ['a 200 whose body drips past the wait', { body: 'x'.repeat(100), drip: 50 }, failed('timeout', 200), late],
    ['a 200 whose body drips within the wait', { body: 'x'.repeat(10), drip: 10 }, delivered],
    [
      'a 500 whose body drips past the wait',
      { status: 500, body: 'x'.repeat(100), drip: 50 },
      failed('server_error', 500),
      late,
    ],
    ['a head that drips past the wait', { bytes: 'HTTP/1.1 200 OK\r\nx: ', keep: true }, failed('timeout'), late],
    ['a 200 with 10 MB', { body: Buffer.alloc(10_000_000, 'x') }, delivered],
    ['a 200 with exactly 64 KiB', { body: Buffer.alloc(65_536, 'x') }, delivered],
    ['a 200 whose body never ends', { endless: 'body' }, delivered],
    ['a 500 whose body never ends', { status: 500, endless: 'body' }, failed('server_error', 500)],
    ['a 200 that is a gzip bomb', { body: bomb, headers: { 'content-encoding': 'gzip' } }, delivered],
    ['a head that never ends', { endless: 'head' }, failed('protocol')],
    ['a head of 40 KB', { headers: { 'x-long': 'x'.repeat(40_000) } }, delivered],
    ['a head of 10 KB', { headers: { 'x-long': 'x'.repeat(10_000) } }, delivered],
    ['a status line that never ends', { bytes: `HTTP/1.1 200 ${'x'.repeat(400_000)}`, keep: true }, failed('protocol')],
    ['a reset before the answer', { rst: 'before' }, failed('connect')],
    ['a close before the answer', { bytes: '' }, failed('connect')],
    ['a reset within the head', { rst: 'head' }, failed('protocol')],
    ['a reset within the status line', { bytes: 'HTT' }, failed('protocol')],
    ['a reset within the body', { rst: 'body', body: 'part' }, failed('protocol', 200)],
    [
      'a body shorter than its length',
      { bytes: `HTTP/1.1 200 OK${CRLF}content-length: 9${CRLF}${CRLF}abc` },
      failed('protocol', 200),
    ],
    [
      'a chunk that breaks off',
      { bytes: `HTTP/1.1 200 OK${CRLF}transfer-encoding: chunked${CRLF}${CRLF}5${CRLF}ab` },
      failed('protocol', 200),
    ],
    ['a body that ends with the connection', { bytes: `HTTP/1.1 200 OK${CRLF}${CRLF}all` }, delivered],
    [
      'a body without length that is reset',
      { bytes: `HTTP/1.1 200 OK${CRLF}${CRLF}part`, rst: 'body' },
      failed('protocol', 200),
    ],
    ['HTTP/1.0', { bytes: `HTTP/1.0 200 OK${CRLF}${CRLF}all` }, delivered],
    ['no HTTP', { bytes: 'SSH-2.0-OpenSSH_9.2\r\n' }, failed('protocol')],
    [
      'two lengths',
      { bytes: `HTTP/1.1 200 OK${CRLF}content-length: 1${CRLF}content-length: 2${CRLF}${CRLF}ab` },
      failed('protocol'),
    ],
    ['an invalid length', { bytes: `HTTP/1.1 200 OK${CRLF}content-length: -1${CRLF}${CRLF}` }, failed('protocol')],
    [
      'an upgrade',
      { bytes: `HTTP/1.1 101 Switching${CRLF}upgrade: x${CRLF}connection: upgrade${CRLF}${CRLF}`, keep: true },
      failed('timeout'),
    ],
    [
      'a 200 after 103',
      {
        bytes: `HTTP/1.1 103 Early Hints${CRLF}link: </a>${CRLF}${CRLF}HTTP/1.1 200 OK${CRLF}content-length: 0${CRLF}${CRLF}`,
      },
      delivered,
    ],
    [
      'a 200 after 100',
      { bytes: `HTTP/1.1 100 Continue${CRLF}${CRLF}HTTP/1.1 200 OK${CRLF}content-length: 0${CRLF}${CRLF}` },
      delivered,
    ],
    [
      'a 200 after two 100',
      {
        bytes:
          `HTTP/1.1 100 Continue${CRLF}${CRLF}`.repeat(2) + `HTTP/1.1 200 OK${CRLF}content-length: 2${CRLF}${CRLF}ok`,
      },
      delivered,
    ],
    [
      'a 200 after 103 and 100',
      {
        bytes: `HTTP/1.1 103 Early Hints${CRLF}${CRLF}HTTP/1.1 100 Continue${CRLF}${CRLF}HTTP/1.1 200 OK${CRLF}content-length: 0${CRLF}${CRLF}`,
      },
      delivered,
    ],
    [
      'a 200 after interim answers of every kind',
      {
        bytes:
          [100, 103, 102, 100, 199, 103]
            .map((status) => `HTTP/1.1 ${status} x${CRLF}link: </a>${CRLF}${CRLF}`)
            .join('')
            .repeat(50) + `HTTP/1.1 200 OK${CRLF}content-length: 2${CRLF}${CRLF}ok`,
      },
      delivered,
    ],
    [
      '103 and no further answer',
      { bytes: `HTTP/1.1 103 Early Hints${CRLF}${CRLF}`.repeat(100), keep: true },
      failed('timeout'),
      late,
    ],
    [
      '103 without end',
      { bytes: `HTTP/1.1 103 Early Hints${CRLF}${CRLF}`.repeat(20_000), keep: true },
      failed('timeout'),
    ],
  ];

  it.each(rows)('classifies the response of a partner: %s', async (...[, answer, expected, changes]) => {
    const { outcome, partner } = await attempt(answer, changes);
    expect(summary(outcome)).toEqual(expected);
    expect(partner.requests).toHaveLength(1);
    const { waitMs = 3000 } = changes ?? {};
    expect(outcome.durationMs).toBeLessThan(waitMs + 500);
  });
});

describe('the excerpt of an answer', () => {
  const excerptOf = async (answer: PartnerAnswer, changes?: Partial<PartnerEndpoint>) =>
    (await attempt(answer, changes)).outcome.excerpt;

  it('limits the excerpt of a response to 2 KiB, and cuts it between characters', async () => {
    const excerpt = await excerptOf({ status: 400, body: `x${'é'.repeat(5000)}` });
    expect(Buffer.byteLength(excerpt ?? '')).toBe(2047);
    expect(excerpt).toMatch(/^xé+$/);
  });

  it('removes control characters from the excerpt of a response, whatever its bytes are', async () => {
    const noise = Buffer.from([
      0x00, 0x41, 0x0d, 0x0a, 0x42, 0x1b, 0x7f, 0xc2, 0x85, 0xff, 0xfe, 0xed, 0xa0, 0x80, 0x43,
    ]);
    const excerpt = await excerptOf({ status: 400, body: noise });
    expect(excerpt).toMatch(/^A B\ufffd+C$/);
  });

  it('stores no excerpt of a response whose body is empty or compressed', async () => {
    expect(await excerptOf({ status: 500 })).toBeNull();
    expect(await excerptOf({ status: 500, body: gzipSync('x'), headers: { 'Content-Encoding': 'gzip' } })).toBeNull();
  });

  it('keeps the received part of an incomplete response body as the excerpt', async () => {
    expect(await excerptOf({ status: 500, body: 'part of it', rst: 'body' })).toBe('part of it');
  });

  it('removes credentials from the excerpt of a response that repeats them', async () => {
    const auth = { type: 'basic', username: 'ann', password: 'Tops"cret&' } as const;
    const echo = `${JSON.stringify({ password: auth.password })} ${Buffer.from('ann:Tops"cret&').toString('base64')} ${encodeURIComponent(auth.password)}`;
    const excerpt = await excerptOf({ status: 400, body: echo }, { auth });
    expect(excerpt).toMatch(/^\{"password":"\*+"\} \*+ \*+$/);
    const bytes = Buffer.from(auth.password).toString('hex');
    const spelled = [
      bytes,
      bytes.toUpperCase(),
      Buffer.from(auth.password).toString('base64url'),
      'Tops&quot;cret&amp;',
      'Tops&#34;cret&#x26;',
      'Tops\\u0022cret\\x26',
      'Top%73%22cret&amp;',
      [...auth.password].map((character) => `&#x${character.charCodeAt(0).toString(16)};`).join(''),
    ];
    for (const text of spelled)
      expect(await excerptOf({ status: 400, body: `<p>${text}</p> &lt;end&gt;` }, { auth })).toMatch(
        /^<p>\*+<\/p> &lt;end&gt;$/,
      );
    for (const before of ['', 'x', 'xy', 'xyz']) {
      const dump = Buffer.from(`${before}${auth.password} and more`).toString('base64');
      const excerpt = await excerptOf({ status: 400, body: dump }, { auth });
      expect(Buffer.from(excerpt!.replaceAll('*', 'A'), 'base64').toString()).not.toContain('s"cre');
    }
    const ofHeader = { type: 'headers', headers: [{ name: 'authorization', value: 'ApiKey 0123456789' }] } as const;
    const told = await excerptOf(
      { status: 401, body: 'unknown key 0123456789' },
      { auth: structuredClone(ofHeader) as never },
    );
    expect(told).toBe('unknown key **********');
    const straddling = await excerptOf({ status: 400, body: 'x'.repeat(2044) + auth.password }, { auth });
    expect(straddling).toBe(`${'x'.repeat(2044)}****`);
  });
});

describe('TLS to a partner', () => {
  it.each([
    ['an unknown authority', 'good', 'other'],
    ['no authority of ours, with the system roots', 'good', null],
    ['a certificate that has expired', 'expired', 'own'],
    ['a certificate for another host', 'wrongHost', 'own'],
    ['a self-signed certificate', 'selfSigned', 'own'],
  ] as const)('refuses a connection to a partner with %s', async (_name, identity, trust) => {
    const certificates = await sharedCertificates();
    const partner = await aPartner({ tls: certificates[identity] });
    const caPem = trust && { own: partner.caPem, other: certificates.otherAuthority.certPem }[trust];
    const outcome = await (await aClient()).put(endpointOf(partner, { caPem }), headers, body);
    expect(summary(outcome)).toEqual(failed('tls'));
    expect(partner.requests).toHaveLength(0);
  });

  it('trusts a partner’s self-signed certificate if that certificate is the ca_pem of the subscription', async () => {
    const { selfSigned } = await sharedCertificates();
    const partner = await aPartner({ tls: selfSigned });
    const outcome = await (await aClient()).put(endpointOf(partner, { caPem: selfSigned.certPem }), headers, body);
    expect(summary(outcome)).toEqual(delivered);
  });

  it.each(['127.0.0.1', '[::1]'])('verifies the certificate of a partner at the IP address %s', async (host) => {
    const { wrongHost } = await sharedCertificates();
    for (const [tls, expected] of [
      [undefined, delivered],
      [wrongHost, failed('tls')],
    ] as const) {
      const partner = await aPartner({ tls, host: host === '[::1]' ? '::1' : host });
      const url = partner.url.replace('localhost', host);
      const outcome = await (await aClient()).put(endpointOf(partner, { url }), headers, body);
      expect(summary(outcome)).toEqual(expected);
    }
  });

  it('sends the host of the URL as the TLS server name (SNI), without a trailing dot', async () => {
    const partner = await aPartner();
    const url = partner.url.replace('localhost', 'localhost.');
    const outcome = await (
      await aClient(LOOPBACK, () => Promise.resolve(['127.0.0.1']))
    ).put(endpointOf(partner, { url }), headers, body);
    expect(summary(outcome)).toEqual(delivered);
  });

  it('connects to a partner with TLS 1.2, but not with TLS 1.1', async () => {
    const client = await aClient();
    const [old, older] = await Promise.all([
      aPartner({ maxTlsVersion: 'TLSv1.2' }),
      aPartner({ maxTlsVersion: 'TLSv1.1', minTlsVersion: 'TLSv1' }),
    ]);
    expect(summary(await client.put(endpointOf(old), headers, body))).toEqual(delivered);
    expect(summary(await client.put(endpointOf(older, { key: 'sub_2:1' }), headers, body))).toEqual(failed('tls'));
  });

  it("verifies partners' certificates even if NODE_TLS_REJECT_UNAUTHORIZED disables verification", async () => {
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    stops.push(() => void delete process.env.NODE_TLS_REJECT_UNAUTHORIZED);
    const { selfSigned } = await sharedCertificates();
    const partner = await aPartner({ tls: selfSigned });
    expect(summary(await (await aClient()).put(endpointOf(partner), headers, body))).toEqual(failed('tls'));
  });

  it("an attempt fails with failure class tls when the partner's port answers plain HTTP", async () => {
    const partner = await aPartner();
    const url = await listening(createHttpServer((_request, response) => response.end()));
    expect(summary(await (await aClient()).put(endpointOf(partner, { url }), headers, body))).toEqual(failed('tls'));
  });

  it('an attempt fails with failure class timeout when the partner does not answer the TLS handshake', async () => {
    const partner = await aPartner();
    const url = await listening(createTcpServer((socket) => socket.on('error', () => undefined).resume()));
    const outcome = await (await aClient()).put(endpointOf(partner, { url, waitMs: 1000 }), headers, body);
    expect(summary(outcome)).toEqual(failed('timeout'));
    expect(outcome.durationMs).toBeLessThan(3000);
  });

  it.each([
    ['caPem', { caPem: 'garbage' }],
    ['an empty caPem', { caPem: '' }],
    ['a client certificate without its key', { clientCertPem: 'garbage' }],
    ['an invalid client key', { clientCertPem: 'garbage', clientKeyPem: 'garbage' }],
  ])('reports invalid PEM as an error instead of throwing an exception: %s', async (_name, changes) => {
    const partner = await aPartner();
    const outcome = await (await aClient()).put(endpointOf(partner, changes), headers, body);
    expect(summary(outcome)).toEqual(failed('tls'));
    expect(partner.connections).toBe(0);
  });

  it.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'presents the client certificate of a subscription to a partner that requests it (%s)',
    async (maxTlsVersion) => {
      const { authority, client: own, foreignClient } = await sharedCertificates();
      const partner = await aPartner({ clientCaPem: authority.certPem, maxTlsVersion });
      const client = await aClient();
      const shown = endpointOf(partner, { clientCertPem: own.certPem, clientKeyPem: own.keyPem });
      expect(summary(await client.put(shown, headers, body))).toEqual(delivered);
      expect(partner.requests[0].tlsClientCert).toBe('notifier');
      expect(summary(await client.put(endpointOf(partner, { key: 'none' }), headers, body))).toEqual(failed('tls'));
      const foreign = { key: 'foreign', clientCertPem: foreignClient.certPem, clientKeyPem: foreignClient.keyPem };
      expect(summary(await client.put(endpointOf(partner, foreign), headers, body))).toMatchObject({
        delivered: false,
      });
      expect(partner.requests).toHaveLength(1);
    },
  );
});

/** Starts a proxy to a port of this machine. After `freeze`, the existing connections transfer no more bytes. */
async function freezable(port: number): Promise<{ url: string; freeze(): void }> {
  const open = new Set<Socket>();
  const server = createTcpServer((near) => {
    const far = connect(port, '127.0.0.1');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ]) {
      open.add(from);
      from.on('error', () => undefined).on('close', () => to.destroy());
      from.pipe(to);
    }
  });
  const url = await listening(server);
  stops.push(() => open.forEach((socket) => socket.destroy()));
  const freeze = () =>
    open.forEach((socket) =>
      socket
        .unpipe()
        .on('data', () => undefined)
        .removeAllListeners('close'),
    );
  return { url, freeze };
}

/**
 * Starts listeners with short accept queues, and fills the queues. Further connections are then neither accepted nor
 * refused. Returns a function that stops the listeners.
 */
async function silentListeners(port: number, hosts: string[]): Promise<() => void> {
  const child = spawn(
    process.execPath,
    [
      '-e',
      `const { createServer } = require('node:net');
       let open = 0;
       for (const host of ${JSON.stringify(hosts)})
         createServer().listen({ port: ${port}, host, backlog: 1 }, () => {
           if (++open < ${hosts.length}) return;
           require('node:fs').writeSync(1, 'open');
           process.kill(process.pid, 'SIGSTOP');
         });`,
    ],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  );
  await once(child.stdout, 'data');
  const dialled: Socket[] = [];
  const isTaken = async (host: string) => {
    const socket = connect(port, host).on('error', () => undefined);
    dialled.push(socket);
    return Promise.race([once(socket, 'connect').then(() => true), elapsed(500, false)]);
  };
  await Promise.all(
    hosts.map(async (host) => {
      while (await isTaken(host));
    }),
  );
  return () => {
    for (const socket of dialled) socket.destroy();
    child.kill('SIGKILL');
  };
}

describe('a partner that cannot be reached', () => {
  it.each([
    ['refuses connections', 'connect'],
    ['has no address', 'dns'],
  ])('an attempt to reach a partner that %s fails with failure class %s', async (_name, failure) => {
    const partner = await aPartner();
    const lookup: AddressLookup = (host) =>
      host === 'localhost'
        ? Promise.resolve(['127.0.0.1'])
        : Promise.reject(Object.assign(new Error(), { code: 'ENOTFOUND' }));
    const url = failure === 'dns' ? partner.url.replace('localhost', 'nowhere.example') : partner.url;
    await partner.goDown();
    const outcome = await (await aClient(LOOPBACK, lookup)).put(endpointOf(partner, { url }), headers, body);
    expect(outcome).toMatchObject({ ...failed(failure), reason: failure === 'dns' ? 'ENOTFOUND' : 'ECONNREFUSED' });
  });

  it('reports a timeout when the name servers do not answer', async () => {
    const partner = await aPartner();
    const client = await aClient(LOOPBACK, () => new Promise(() => undefined));
    const outcome = await client.put(endpointOf(partner, { waitMs: 1000 }), headers, body);
    expect(summary(outcome)).toEqual(failed('timeout'));
    expect(outcome.durationMs).toBeLessThan(3000);
  });

  it('reaches the partner at its second address if the first cannot be reached', async () => {
    const partner = await aPartner();
    const client = await aClient(LOOPBACK, () => Promise.resolve(['127.0.0.2', '::1', '127.0.0.1']));
    expect(summary(await client.put(endpointOf(partner), headers, body))).toEqual(delivered);
  });

  it('reaches the partner at its third address within a few seconds if the first two addresses are silent', async () => {
    const partner = await aPartner();
    // The first address neither accepts nor refuses connections, because its accept queue is full.
    const silent = await silentListeners(Number(new URL(partner.url).port), ['127.0.0.3', '127.0.0.4']);
    const client = await aClient(LOOPBACK, () => Promise.resolve(['127.0.0.3', '127.0.0.4', '127.0.0.1']));
    const outcome = await client.put(endpointOf(partner, { waitMs: 20_000 }), headers, body);
    expect(summary(outcome)).toEqual(delivered);
    expect(outcome.durationMs).toBeLessThan(6000);
    silent();
  });

  it.each<[string, (socket: Socket, stranger: number) => void]>([
    ['is silent in TLS', (socket) => socket.resume()],
    ['ends TLS', (socket) => socket.once('data', () => socket.destroy())],
    ['speaks no TLS', (socket) => socket.resume().end('HTTP/1.1 400 Bad Request\r\n\r\n')],
    ['shows another certificate', (socket, stranger) => socket.pipe(connect(stranger, '127.0.0.1')).pipe(socket)],
  ])(
    'reaches a partner at its second address if the first accepts connections and %s, and later dials the second address first',
    async (_, meet) => {
      const [partner, stranger] = [await aPartner(), await aPartner({ tls: (await sharedCertificates()).expired })];
      let met = 0;
      const first = createTcpServer((socket) => {
        met += 1;
        socket.on('error', () => undefined);
        meet(socket, Number(new URL(stranger.url).port));
      });
      await new Promise<void>((resolve) => first.listen(Number(new URL(partner.url).port), '127.0.0.2', resolve));
      stops.push(() => new Promise((resolve) => first.close(resolve)));
      const client = await aClient(LOOPBACK, () => Promise.resolve(['127.0.0.2', '127.0.0.1']));
      const endpoint = endpointOf(partner, { waitMs: 5000 });
      expect(summary(await client.put(endpoint, headers, body))).toEqual(delivered);
      partner.dropConnections();
      expect(summary(await client.put(endpoint, headers, body))).toEqual(delivered);
      expect(met).toBe(1);
    },
  );

  it('an attempt that fails at every address of a partner reports the failure at the address that accepted the connection', async () => {
    const { selfSigned } = await sharedCertificates();
    const partner = await aPartner({ tls: selfSigned });
    for (const addresses of [
      ['127.0.0.1', '127.0.0.2'],
      ['127.0.0.2', '127.0.0.1'],
    ]) {
      const client = await aClient(LOOPBACK, () => Promise.resolve(addresses));
      expect(summary(await client.put(endpointOf(partner), headers, body))).toEqual(failed('tls'));
    }
  });

  it('reaches a partner again after the partner was down', async () => {
    const [client, partner] = await Promise.all([aClient(), aPartner()]);
    const put = async () => summary(await client.put(endpointOf(partner), headers, body));
    expect(await put()).toEqual(delivered);
    await partner.goDown();
    expect(await put()).toEqual(failed('connect'));
    await partner.comeUp();
    expect(await put()).toEqual(delivered);
  });
});

describe('connections to a partner', () => {
  it('opens connections to a partner up to the limit, and a request fails with timeout when no connection becomes free in time', async () => {
    const [client, partner] = await Promise.all([aClient(), aPartner()]);
    const endpoint = endpointOf(partner, { connections: 2, waitMs: 1500 });
    const outcomes = await Promise.all(Array.from({ length: 40 }, () => client.put(endpoint, headers, body)));
    expect(outcomes.every((outcome) => outcome.delivered)).toBe(true);
    expect(partner.connections).toBe(2);
    partner.answer({ endless: 'silence' });
    const late = await Promise.all(Array.from({ length: 5 }, () => client.put(endpoint, headers, body)));
    expect(late.map(summary)).toEqual(Array(5).fill(failed('timeout')));
    // All five requests end at about the same time. When one request ends slightly earlier, its connection may serve a
    // request that still waits.
    expect(partner.requests.length).toBeLessThan(45);
    partner.answer({ status: 200 });
    expect(summary(await client.put(endpoint, headers, body))).toEqual(delivered);
  });

  it('a response that arrived in time counts even if the process was too busy to read it in time', async () => {
    const [client, partner] = await Promise.all([aClient(), aPartner()]);
    partner.answer(() => {
      // The test blocks the process from the moment at which the partner sends its response until the wait time is
      // over.
      setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500));
      return { status: 200 };
    });
    expect(summary(await client.put(endpointOf(partner, { waitMs: 1000 }), headers, body))).toEqual(delivered);
  });

  it('closes a new connection without an error when the attempt for which it was opened is cancelled', async () => {
    const [client, partner] = await Promise.all([aClient(), aPartner()]);
    for (let i = 0; i < 200; i += 1) {
      const attempt = client.put(endpointOf(partner), headers, body, () => false);
      await expect(attempt).rejects.toThrow(AttemptNotBegun);
    }
    expect(partner.requests).toHaveLength(0);
  });

  it('opens a new connection when the partner closed the old connection between requests', async () => {
    const [client, partner] = await Promise.all([aClient(), aPartner()]);
    for (let i = 0; i < 20; i += 1) {
      const outcome = client.put(endpointOf(partner), headers, body);
      expect(summary(await outcome)).toEqual(delivered);
      partner.dropConnections();
    }
    expect(partner.requests).toHaveLength(20);
  });

  it('keeps an idle connection to a partner for over five seconds, unless the partner announces a shorter keep-alive', async () => {
    const [client, silent, brief] = await Promise.all([aClient(), aPartner(), aPartner()]);
    silent.answer({ headers: { connection: 'keep-alive' } });
    brief.answer({ headers: { connection: 'keep-alive', 'keep-alive': 'timeout=3' } });
    const put = () =>
      Promise.all(
        [silent, brief].map((partner) => client.put(endpointOf(partner, { key: partner.url }), headers, body)),
      );
    for (const outcomes of [await put(), await elapsed(5500).then(put)])
      expect(outcomes.map(summary)).toEqual([delivered, delivered]);
    expect([silent.connections, brief.connections]).toEqual([1, 2]);
  });

  it('limits the total number of idle connections to partners, and closes the connection that was idle longest', async () => {
    const [client, partner] = await Promise.all([aClient(LOOPBACK, undefined, new IdleConnections(2)), aPartner()]);
    const put = async (key: string) => {
      expect(summary(await client.put(endpointOf(partner, { key }), headers, body))).toEqual(delivered);
      return partner.connections;
    };
    // There are three partners, and at most two idle connections are kept. The service keeps the connections to the two
    // partners that were used most recently.
    for (const [key, connections] of [
      ['a', 1],
      ['b', 2],
      ['a', 2],
      ['c', 3],
      ['a', 3],
      ['c', 3],
      ['b', 4],
      ['c', 4],
      ['a', 5],
    ] as const)
      expect([key, await put(key)]).toEqual([key, connections]);
    expect(await eventually(() => partner.open === 2)).toBe(true);
  });

  it.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'resumes the TLS session with a partner on a new connection (%s)',
    async (maxTlsVersion) => {
      const [client, partner] = await Promise.all([aClient(), aPartner({ maxTlsVersion })]);
      for (let i = 0; i < 3; i += 1) {
        expect(summary(await client.put(endpointOf(partner), headers, body))).toEqual(delivered);
        partner.dropConnections();
      }
      expect(partner.requests.map(({ tlsResumed }) => tlsResumed)).toEqual([false, true, true]);
    },
  );

  it('only one attempt fails when a firewall has silently dropped all idle connections to a partner', async () => {
    const [client, partner] = await Promise.all([aClient(), aPartner()]);
    const between = await freezable(Number(new URL(partner.url).port));
    const endpoint = endpointOf(partner, { url: between.url, waitMs: 2000 });
    const puts = () => Promise.all(Array.from({ length: 4 }, () => client.put(endpoint, headers, body)));
    partner.answer({ delayMs: 100 });
    expect((await puts()).map(summary)).toEqual(Array(4).fill(delivered));
    expect(partner.connections).toBe(4);
    between.freeze();
    const now = performance.now.bind(performance);
    jest.spyOn(performance, 'now').mockImplementation(() => now() + 15_000);
    stops.push(() => void jest.restoreAllMocks());
    const outcomes = (await puts()).map(summary).sort((one, other) => Number(one.delivered) - Number(other.delivered));
    expect(outcomes).toEqual([failed('timeout'), delivered, delivered, delivered]);
    expect((await puts()).map(summary)).toEqual(Array(4).fill(delivered));
  });

  it('retries a request once when a kept-alive connection breaks, but not when a new connection breaks', async () => {
    const [client, partner] = await Promise.all([aClient(), aPartner()]);
    const put = async () => summary(await client.put(endpointOf(partner), headers, body));
    partner.answer((_request, index) => (index === 1 ? { rst: 'before' } : { status: 200 }));
    expect(await put()).toEqual(delivered);
    expect(await put()).toEqual(delivered);
    expect(partner.requests).toHaveLength(3);
    partner.answer({ rst: 'before' });
    expect(await put()).toEqual(failed('connect'));
    expect(partner.requests).toHaveLength(5);
  });

  it('retries a request once when a kept-alive connection breaks, even if new attempts are no longer allowed', async () => {
    const [client, partner] = await Promise.all([aClient(), aPartner()]);
    await client.put(endpointOf(partner), headers, body);
    partner.answer((_request, index) => (index === 1 ? { rst: 'before' } : { status: 200 }));
    let asked = 0;
    const outcome = await client.put(endpointOf(partner), headers, body, () => ++asked === 1);
    expect(outcome).toMatchObject({ ...delivered, earlier: [{ failure: 'connect', httpStatus: null }] });
    expect(partner.requests).toHaveLength(3);
  });

  it('does not retry a request when the connection breaks during the response', async () => {
    const [client, partner] = await Promise.all([aClient(), aPartner()]);
    const put = async () => summary(await client.put(endpointOf(partner), headers, body));
    expect(await put()).toEqual(delivered);
    partner.answer({ rst: 'head' });
    expect(await put()).toEqual(failed('protocol'));
    expect(partner.requests).toHaveLength(2);
  });

  it('forget() and close() of the partner client close connections only after their running requests have ended', async () => {
    const [client, partner] = await Promise.all([aClient(), aPartner()]);
    partner.answer({ delayMs: 200 });
    const first = client.put(endpointOf(partner), headers, body);
    await partner.received(1);
    await client.forget('sub_1:1');
    expect(summary(await first)).toEqual(delivered);
    const second = client.put(endpointOf(partner), headers, body);
    await partner.received(2);
    await client.close();
    expect(summary(await second)).toEqual(delivered);
    expect(partner.connections).toBe(2);
    await expect(client.put(endpointOf(partner), headers, body)).rejects.toThrow('closed');
  });
});

describe('the address guard of the client', () => {
  it.each([
    'https://127.0.0.1',
    'https://2130706433',
    'https://0x7f.1',
    'https://127.1',
    'https://[::1]',
    'https://[::ffff:7f00:1]',
    'https://[::ffff:127.0.0.1]',
    'https://localhost',
    'https://0.0.0.0',
    'https://169.254.169.254',
    'https://[64:ff9b::7f00:1]',
  ])('never connects to the forbidden address %s', async (host) => {
    const partner = await aPartner();
    const url = `${host}:${new URL(partner.url).port}`;
    const outcome = await (await aClient([])).put(endpointOf(partner, { url }), headers, body);
    expect(summary(outcome)).toEqual(failed('blocked'));
    expect(partner.connections).toBe(0);
  });

  it("checks every address of the partner's host at each attempt, and connects only to an address that it checked", async () => {
    const partner = await aPartner();
    const answers = [['127.0.0.1'], ['10.0.0.1'], ['127.0.0.1', '169.254.169.254']];
    let asked = 0;
    const client = await aClient(LOOPBACK, () => Promise.resolve(answers[asked++]));
    const url = partner.url;
    const put = async () => summary(await client.put(endpointOf(partner, { url }), headers, body));
    expect(await put()).toEqual(delivered);
    expect(asked).toBe(1);
    await client.forget('sub_1:1');
    expect(await put()).toEqual(failed('blocked'));
    expect(await put()).toEqual(failed('blocked'));
    expect(asked).toBe(3);
    expect(partner.connections).toBe(1);
  });

  it('refuses to connect to a URL with the scheme http or with a user name', async () => {
    const partner = await aPartner();
    const client = await aClient();
    for (const url of [partner.url.replace('https', 'http'), partner.url.replace('//', '//user@')]) {
      expect(summary(await client.put(endpointOf(partner, { url }), headers, body))).toEqual(failed('blocked'));
    }
    expect(partner.connections).toBe(0);
  });
});

describe('OAuth2 client credentials', () => {
  const secret = { clientId: 'id with: colon', clientSecret: 's3cr%t+ä' };

  async function anOAuthPartner(changes: Partial<PartnerEndpoint['auth']> = {}, expiresIn?: number) {
    const partner = await aPartner({ oauth: { ...secret, expiresIn } });
    return withTokensOf(partner, partner, changes);
  }

  async function withTokensOf(issuer: Partner, partner: Partner, changes: Partial<PartnerEndpoint['auth']> = {}) {
    const client = await aClient();
    const auth = {
      type: 'oauth2_client_credentials',
      token_url: issuer.tokenUrl,
      client_id: secret.clientId,
      client_secret: secret.clientSecret,
      ...changes,
    } as PartnerEndpoint['auth'];
    const endpoint = endpointOf(partner, { auth });
    const put = () => client.put(endpoint, headers, body);
    return { client, endpoint, partner, put };
  }

  it('uses one OAuth2 token for many simultaneous notifications', async () => {
    const { partner, put } = await anOAuthPartner({ scope: 'notify all' });
    const outcomes = await Promise.all(Array.from({ length: 10 }, put));
    expect(outcomes.every((outcome) => outcome.delivered)).toBe(true);
    expect(partner.tokenRequests).toHaveLength(1);
    const [request] = partner.tokenRequests;
    expect(request.raw.toString()).toBe('grant_type=client_credentials&scope=notify+all');
    expect(request.headers['content-type']).toBe('application/x-www-form-urlencoded');
    expect(Buffer.from(request.headers.authorization.slice(6), 'base64').toString()).toBe(
      'id+with%3A+colon:s3cr%25t%2B%C3%A4',
    );
    expect(partner.requests[0].headers.authorization).toMatch(/^Bearer token-1-/);
  });

  it('requests a new OAuth2 token shortly before the old token expires', async () => {
    const { partner, put } = await anOAuthPartner({}, 1);
    await put();
    await put();
    expect(partner.tokenRequests).toHaveLength(1);
    await new Promise((resolve) => setTimeout(resolve, 920));
    await put();
    expect(partner.tokenRequests).toHaveLength(2);
  });

  it('discards the OAuth2 token after a 401, and sends the request once more with a new token', async () => {
    const { partner, put } = await anOAuthPartner();
    await put();
    partner.revokeTokens();
    expect(summary(await put())).toEqual(delivered);
    expect([partner.tokenRequests.length, partner.requests.length]).toEqual([2, 3]);
    partner.answer({ status: 401 });
    expect(summary(await put())).toEqual(failed('auth', 401));
    expect([partner.tokenRequests.length, partner.requests.length]).toEqual([3, 5]);
  });

  it('sends a request once more after a 401, even if new attempts are no longer allowed', async () => {
    const { client, endpoint, partner } = await anOAuthPartner();
    partner.answer((_request, index) => ({ status: index === 0 ? 401 : 200 }));
    let asked = 0;
    const outcome = await client.put(endpoint, headers, body, () => ++asked === 1);
    expect(outcome).toMatchObject({ ...delivered, earlier: [{ failure: 'auth', httpStatus: 401 }] });
  });

  it('sends no notification if the process is so busy that it reads the OAuth2 token only after the wait time', async () => {
    const { client, endpoint, partner } = await anOAuthPartner();
    partner.answerToken(() => {
      // The test blocks the process from the moment at which the token endpoint sends the token until the wait time is
      // over.
      setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500));
      return { body: JSON.stringify(good) };
    });
    const outcome = await client.put({ ...endpoint, waitMs: 1000 }, headers, body);
    expect(outcome).toMatchObject({ ...failed('auth'), reason: 'token_late' });
    expect(partner.requests).toHaveLength(0);
  });

  const good = { access_token: 'abc', token_type: 'Bearer', expires_in: 60 };

  it("sends a notification that waits for a new OAuth2 token even if the subscription's settings change meanwhile", async () => {
    const issuer = await aPartner({ oauth: secret });
    const { client, partner, put } = await withTokensOf(issuer, await aPartner());
    let issue = () => {};
    const issued = new Promise<void>((resolve) => (issue = resolve));
    issuer.answerToken(async (_request, index) => {
      if (index === 1) await issued;
      return { body: JSON.stringify(good) };
    });
    partner.answer((_request, index) => ({ status: index === 1 ? 401 : 200 }));
    expect(summary(await put())).toEqual(delivered);
    const second = put();
    await eventually(() => issuer.tokenRequests.length === 2);
    const forgotten = client.forget('sub_1:1');
    issue();
    expect(summary(await second)).toEqual(delivered);
    await forgotten;
  });

  it('requests an OAuth2 token with an extremely long lifetime only once, and uses it for later notifications', async () => {
    const issuer = await aPartner({ oauth: secret });
    const { put } = await withTokensOf(issuer, await aPartner());
    // The lifetime of the token is written as JSON text, because it exceeds the range of a JavaScript number.
    issuer.answerToken({ body: JSON.stringify(good).replace('60', '1e999') });
    expect([summary(await put()), summary(await put())]).toEqual([delivered, delivered]);
    expect(issuer.tokenRequests).toHaveLength(1);
  });

  it.each<[string, PartnerAnswer, string, string]>([
    ['400', { status: 400, body: '{"error":"invalid_client"}' }, 'auth', 'token_http_400'],
    ['500', { status: 500 }, 'auth', 'token_http_500'],
    ['a redirect', { status: 302, headers: { location: '/token2' } }, 'auth', 'token_http_302'],
    ['no JSON', { body: '<html>' }, 'auth', 'token_answer_malformed'],
    ['null', { body: 'null' }, 'auth', 'token_answer_malformed'],
    ['another type', { body: JSON.stringify({ ...good, token_type: 'mac' }) }, 'auth', 'token_type_unknown'],
    ['no token', { body: JSON.stringify({ token_type: 'Bearer' }) }, 'auth', 'token_malformed'],
    [
      'a token that breaks the header',
      { body: JSON.stringify({ ...good, access_token: 'a\r\nb: c' }) },
      'auth',
      'token_malformed',
    ],
    ['a negative lifetime', { body: JSON.stringify({ ...good, expires_in: -1 }) }, 'auth', 'token_expires_in_invalid'],
    [
      'a life that is no number',
      { body: JSON.stringify({ ...good, expires_in: 'soon' }) },
      'auth',
      'token_expires_in_invalid',
    ],
    ['too much', { body: Buffer.alloc(100_000, ' ') }, 'auth', 'token_answer_cut'],
    ['a reset', { rst: 'before' }, 'auth', 'token_connect_ECONNRESET'],
    ['a close', { bytes: '' }, 'auth', 'token_connect_ECONNRESET'],
    ['silence', { endless: 'silence' }, 'auth', 'token_'],
    ['a drip', { body: 'x'.repeat(200), drip: 100 }, 'auth', 'token_'],
  ])('reports the failure of a token endpoint that answers %s', async (_name, answer, failure, reason) => {
    const { client, partner, put } = await anOAuthPartner();
    partner.answerToken(answer);
    const outcome = await put();
    expect(summary(outcome)).toEqual(failed(failure));
    expect(outcome.reason?.startsWith(reason)).toBe(true);
    expect(outcome.durationMs).toBeLessThan(6000);
    expect(partner.requests).toHaveLength(0);
    await client.close();
  });

  it.each([
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ])('decodes a token response in the content coding %s, which was not requested', async (coding, pack) => {
    const { partner, put } = await anOAuthPartner();
    const answer = JSON.stringify({ ...good, access_token: 'abc' });
    partner.answerToken({ body: pack(answer), headers: { 'content-encoding': coding } });
    await put();
    expect(partner.tokenRequests[0].headers['accept-encoding']).toBe('identity');
    expect(partner.requests[0].headers.authorization).toBe('Bearer abc');
  });

  it.each([
    ['an unknown coding', { body: 'x', headers: { 'content-encoding': 'zstd2' } }],
    ['no gzip', { body: 'x', headers: { 'content-encoding': 'gzip' } }],
    ['a gzip bomb', { body: gzipSync(Buffer.alloc(20_000_000)), headers: { 'content-encoding': 'gzip' } }],
  ])('reports a token response that cannot be decoded: %s', async (_name, answer) => {
    const { partner, put } = await anOAuthPartner();
    partner.answerToken(answer);
    expect(await put()).toMatchObject({ ...failed('auth'), reason: 'token_answer_encoded' });
  });

  it('sends audience, resource, client id and secret to the token endpoint as form fields', async () => {
    const { partner, put } = await anOAuthPartner({
      client_auth: 'post',
      audience: 'https://api.partner.example/',
      resource: 'https://partner.example/events',
      headers: [{ name: 'x-api-key', value: 'for the partner alone' }],
    } as object);
    partner.answerToken({ body: JSON.stringify(good) });
    await put();
    const [request] = partner.tokenRequests;
    expect(Object.fromEntries(new URLSearchParams(request.raw.toString()))).toEqual({
      grant_type: 'client_credentials',
      audience: 'https://api.partner.example/',
      resource: 'https://partner.example/events',
      client_id: secret.clientId,
      client_secret: secret.clientSecret,
    });
    expect(request.headers.authorization).toBeUndefined();
    expect(request.headers['x-api-key']).toBeUndefined();
    expect(partner.requests[0].headers['x-api-key']).toBe('for the partner alone');
  });

  it('accepts a token_type in upper or lower case, and a token response without expires_in', async () => {
    const { partner, put } = await anOAuthPartner();
    partner.answerToken({ body: JSON.stringify({ access_token: 'abc', token_type: 'BEARER' }) });
    expect(summary(await put())).toEqual(failed('auth', 401));
    expect(partner.requests.map((request) => request.headers.authorization)).toEqual(['Bearer abc', 'Bearer abc']);
  });

  it.each(['https://10.0.0.1/token', 'https://169.254.169.254/token', 'https://[::ffff:10.0.0.1]/token'])(
    'refuses to call a token endpoint at %s',
    async (token_url) => {
      const { partner, put } = await anOAuthPartner({ token_url });
      expect(summary(await put())).toEqual(failed('blocked'));
      expect(partner.connections).toBe(0);
    },
  );

  it('removes the OAuth2 token from the excerpt of a response that repeats the token', async () => {
    const { partner, put } = await anOAuthPartner();
    partner.answer((request) => ({ status: 400, body: request.headers.authorization }));
    expect((await put()).excerpt).toMatch(/^Bearer \*+$/);
  });
});
