import { HttpModule, HttpService } from '@nestjs/axios';
import { Test } from '@nestjs/testing';
import { createServer as createTcpServer, type AddressInfo, type Server } from 'node:net';
import { createServer as createHttpServer } from 'node:http';
import { gzipSync } from 'node:zlib';

import { PartnerAddressGuard, type AddressLookup } from '../src/notifications/partner-address.js';
import {
  type AttemptOutcome,
  PartnerClient,
  type PartnerEndpoint,
  partnerHttpOptions,
} from '../src/notifications/partner-client.js';
import {
  type Partner,
  type PartnerAnswer,
  type PartnerOptions,
  sharedCertificates,
  startPartner,
} from './support/partner.js';

const LOOPBACK = ['127.0.0.0/8', '::1/128'];
const body = JSON.stringify({ booking_code: 'ABCDEFGH12', change_reason: 'BOOKING_CREATED' });
const headers = { 'content-type': 'application/json', 'webhook-id': 'msg_1' };
const CRLF = '\r\n';

let stops: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

async function aClient(allowedNetworks = LOOPBACK, lookup?: AddressLookup): Promise<PartnerClient> {
  const module = await Test.createTestingModule({
    imports: [HttpModule.register(partnerHttpOptions)],
    providers: [
      { provide: PartnerAddressGuard, useValue: new PartnerAddressGuard(allowedNetworks) },
      lookup
        ? {
            provide: PartnerClient,
            useFactory: (http: HttpService, guard: PartnerAddressGuard) => new PartnerClient(http, guard, lookup),
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

/** One attempt at a partner that answers so. */
async function attempt(answer: PartnerAnswer, changes: Partial<PartnerEndpoint> = {}) {
  const [client, partner] = await Promise.all([aClient(), aPartner()]);
  partner.answer(answer);
  const outcome = await client.put(endpointOf(partner, changes), headers, body);
  return { outcome, partner };
}

const summary = ({ delivered, httpStatus, failure }: AttemptOutcome) => ({ delivered, httpStatus, failure });
const failed = (failure: string, httpStatus: number | null = null) => ({ delivered: false, httpStatus, failure });
const delivered = { delivered: true, httpStatus: 200, failure: null };

describe('what was sent', () => {
  it('is a PUT to {partner_url}/notifications with our headers and the very bytes of the body', async () => {
    const { outcome, partner } = await attempt({ status: 200, body: '{"ok":true}' }, {});
    expect(outcome).toMatchObject({ ...delivered, reason: null, excerpt: '{"ok":true}' });
    expect(outcome.durationMs).toBeGreaterThanOrEqual(0);
    const [request] = partner.requests;
    expect(request).toMatchObject({ method: 'PUT', path: '/notifications' });
    expect(request.headers).toMatchObject({ ...headers, 'content-length': String(body.length) });
    expect(request.headers.authorization).toBeUndefined();
    expect(request.raw.toString()).toBe(body);
  });

  it.each(['/hook', '/hook/'])('has one slash after the path %s', async (path) => {
    const [client, partner] = await Promise.all([aClient(), aPartner()]);
    await client.put(endpointOf(partner, { url: partner.url + path }), headers, Buffer.from(body));
    expect(partner.requests[0]).toMatchObject({ path: '/hook/notifications', raw: Buffer.from(body) });
  });

  it.each([
    [
      { type: 'basic', username: 'Ann:e', password: 'pä:ss' } as const,
      `Basic ${Buffer.from('Ann:e:pä:ss').toString('base64')}`,
    ],
    [{ type: 'bearer', token: 'abc.def' } as const, 'Bearer abc.def'],
  ])('carries %o', async (auth, expected) => {
    const [client, partner] = await Promise.all([aClient(), aPartner()]);
    await client.put(endpointOf(partner, { auth }), headers, body);
    expect(partner.requests[0].headers.authorization).toBe(expected);
  });

  it('a bearer token that would break the header is an auth failure, and nothing is sent', async () => {
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
    ['a head of 40 KB', { headers: { 'x-long': 'x'.repeat(40_000) } }, failed('protocol')],
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
    ['HTTP/1.0', { bytes: `HTTP/1.0 200 OK${CRLF}${CRLF}all` }, delivered],
    ['no HTTP', { bytes: 'SSH-2.0-OpenSSH_9.2\r\n' }, failed('protocol')],
    [
      'two lengths',
      { bytes: `HTTP/1.1 200 OK${CRLF}content-length: 1${CRLF}content-length: 2${CRLF}${CRLF}ab` },
      failed('protocol'),
    ],
    ['a length that is none', { bytes: `HTTP/1.1 200 OK${CRLF}content-length: -1${CRLF}${CRLF}` }, failed('protocol')],
    [
      'an upgrade',
      { bytes: `HTTP/1.1 101 Switching${CRLF}upgrade: x${CRLF}connection: upgrade${CRLF}${CRLF}`, keep: true },
      failed('protocol'),
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
      '103 without end',
      { bytes: `HTTP/1.1 103 Early Hints${CRLF}${CRLF}`.repeat(100), keep: true },
      failed('protocol'),
    ],
  ];

  it.each(rows)('%s', async (_name, answer, expected, changes) => {
    const { outcome, partner } = await attempt(answer, changes);
    expect(summary(outcome)).toEqual(expected);
    expect(partner.requests).toHaveLength(1);
    const { waitMs = 3000 } = changes ?? {};
    expect(outcome.durationMs).toBeLessThan(waitMs + 500);
  });
});

describe('the excerpt', () => {
  const excerptOf = async (answer: PartnerAnswer, changes?: Partial<PartnerEndpoint>) =>
    (await attempt(answer, changes)).outcome.excerpt;

  it('is at most 2 KiB, cut between characters', async () => {
    const excerpt = await excerptOf({ status: 400, body: `x${'é'.repeat(5000)}` });
    expect(Buffer.byteLength(excerpt ?? '')).toBe(2047);
    expect(excerpt).toMatch(/^xé+$/);
  });

  it('is text without control characters, whatever the bytes', async () => {
    const noise = Buffer.from([
      0x00, 0x41, 0x0d, 0x0a, 0x42, 0x1b, 0x7f, 0xc2, 0x85, 0xff, 0xfe, 0xed, 0xa0, 0x80, 0x43,
    ]);
    const excerpt = await excerptOf({ status: 400, body: noise });
    expect(excerpt).toMatch(/^A B\ufffd+C$/);
  });

  it('is none of an empty or compressed body', async () => {
    expect(await excerptOf({ status: 500 })).toBeNull();
    expect(await excerptOf({ status: 500, body: gzipSync('x'), headers: { 'Content-Encoding': 'gzip' } })).toBeNull();
  });

  it('holds what came of a body that broke off', async () => {
    expect(await excerptOf({ status: 500, body: 'part of it', rst: 'body' })).toBe('part of it');
  });

  it('does not hold credentials that the partner says back', async () => {
    const auth = { type: 'basic', username: 'ann', password: 'Tops"cret&' } as const;
    const echo = `${JSON.stringify({ password: auth.password })} ${Buffer.from('ann:Tops"cret&').toString('base64')} ${encodeURIComponent(auth.password)}`;
    const excerpt = await excerptOf({ status: 400, body: echo }, { auth });
    expect(excerpt).toMatch(/^\{"password":"\*+"\} \*+ \*+$/);
    const straddling = await excerptOf({ status: 400, body: 'x'.repeat(2044) + auth.password }, { auth });
    expect(straddling).toBe(`${'x'.repeat(2044)}****`);
  });
});

describe('TLS', () => {
  it.each([
    ['an unknown authority', 'good', 'other'],
    ['no authority of ours, with the system roots', 'good', null],
    ['a certificate that has expired', 'expired', 'own'],
    ['a certificate for another host', 'wrongHost', 'own'],
    ['a self-signed certificate', 'selfSigned', 'own'],
  ] as const)('refuses %s', async (_name, identity, trust) => {
    const certificates = await sharedCertificates();
    const partner = await aPartner({ tls: certificates[identity] });
    const caPem = trust && { own: partner.caPem, other: certificates.otherAuthority.certPem }[trust];
    const outcome = await (await aClient()).put(endpointOf(partner, { caPem }), headers, body);
    expect(summary(outcome)).toEqual(failed('tls'));
    expect(partner.requests).toHaveLength(0);
  });

  it('trusts a self-signed certificate that is the ca_pem', async () => {
    const { selfSigned } = await sharedCertificates();
    const partner = await aPartner({ tls: selfSigned });
    const outcome = await (await aClient()).put(endpointOf(partner, { caPem: selfSigned.certPem }), headers, body);
    expect(summary(outcome)).toEqual(delivered);
  });

  it.each(['127.0.0.1', '[::1]'])('verifies the certificate of the address %s', async (host) => {
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

  it('asks for the host of the URL by name (SNI), without the dot of the root', async () => {
    const partner = await aPartner();
    const url = partner.url.replace('localhost', 'localhost.');
    const outcome = await (
      await aClient(LOOPBACK, () => Promise.resolve(['127.0.0.1']))
    ).put(endpointOf(partner, { url }), headers, body);
    expect(summary(outcome)).toEqual(delivered);
  });

  it('speaks TLS 1.2, but not 1.1', async () => {
    const client = await aClient();
    const [old, older] = await Promise.all([
      aPartner({ maxTlsVersion: 'TLSv1.2' }),
      aPartner({ maxTlsVersion: 'TLSv1.1', minTlsVersion: 'TLSv1' }),
    ]);
    expect(summary(await client.put(endpointOf(old), headers, body))).toEqual(delivered);
    expect(summary(await client.put(endpointOf(older, { key: 'sub_2:1' }), headers, body))).toEqual(failed('tls'));
  });

  it('does not let the environment switch verification off', async () => {
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    stops.push(() => void delete process.env.NODE_TLS_REJECT_UNAUTHORIZED);
    const { selfSigned } = await sharedCertificates();
    const partner = await aPartner({ tls: selfSigned });
    expect(summary(await (await aClient()).put(endpointOf(partner), headers, body))).toEqual(failed('tls'));
  });

  it('meets plain HTTP on the port as a TLS failure', async () => {
    const partner = await aPartner();
    const url = await listening(createHttpServer((_request, response) => response.end()));
    expect(summary(await (await aClient()).put(endpointOf(partner, { url }), headers, body))).toEqual(failed('tls'));
  });

  it('meets silence in the handshake as a timeout', async () => {
    const partner = await aPartner();
    const url = await listening(createTcpServer((socket) => socket.on('error', () => undefined).unref()));
    const outcome = await (await aClient()).put(endpointOf(partner, { url, waitMs: 1000 }), headers, body);
    expect(summary(outcome)).toEqual(failed('timeout'));
    expect(outcome.durationMs).toBeLessThan(1500);
  });

  it.each([
    ['caPem', { caPem: 'garbage' }],
    ['an empty caPem', { caPem: '' }],
    ['a client certificate without its key', { clientCertPem: 'garbage' }],
    ['a client key that is none', { clientCertPem: 'garbage', clientKeyPem: 'garbage' }],
  ])('bad PEM is a clean failure: %s', async (_name, changes) => {
    const partner = await aPartner();
    const outcome = await (await aClient()).put(endpointOf(partner, changes), headers, body);
    expect(summary(outcome)).toEqual(failed('tls'));
    expect(partner.connections).toBe(0);
  });

  it.each(['TLSv1.2', 'TLSv1.3'] as const)(
    'shows its client certificate to a partner that asks (%s)',
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
