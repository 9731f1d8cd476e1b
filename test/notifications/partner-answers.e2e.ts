import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import { HttpModule } from '@nestjs/axios';
import { Test, type TestingModule } from '@nestjs/testing';
import { PartnerAddressGuard } from '../../src/notifications/partner/partner-address.js';
import type { AttemptOutcome } from '../../src/notifications/partner/attempt-outcome.js';
import { PartnerClient, partnerHttpOptions } from '../../src/notifications/partner/partner-client.js';
import { type Partner, type PartnerAnswer, sharedCertificates, startPartner } from '../support/partner.js';

let testing: TestingModule;
let client: PartnerClient;
let partner: Partner;

beforeAll(async () => {
  partner = await startPartner();
  testing = await Test.createTestingModule({
    imports: [HttpModule.register(partnerHttpOptions)],
    providers: [
      { provide: PartnerAddressGuard, useValue: new PartnerAddressGuard(['127.0.0.0/8', '::1/128']) },
      PartnerClient,
    ],
  }).compile();
  client = testing.get(PartnerClient);
});
afterAll(async () => {
  await testing.close();
  await partner.stop();
});

const SECRET = 'open-sesame"&1';

function put() {
  const { url, caPem } = partner;
  const auth = { type: 'bearer', token: SECRET } as const;
  return client.put({ key: 'one', url, auth, caPem, waitMs: 2000, connections: 1 }, {}, '{}');
}

/** Makes one delivery attempt, over a new connection, to a partner that sends the given response. */
async function outcomeOf(answer: PartnerAnswer): Promise<AttemptOutcome> {
  partner.answer(answer);
  const outcome = await put();
  partner.dropConnections();
  return outcome;
}

const summary = ({ delivered, failure, reason, excerpt }: AttemptOutcome) => ({ delivered, failure, reason, excerpt });
const taken = { delivered: true, failure: null, reason: null, excerpt: 'ok' };

const lines = (...text: string[]) => text.map((line) => `${line}\r\n`).join('');
const OK = 'HTTP/1.1 200 OK';
const interim = (status: number) => lines(`HTTP/1.1 ${status} Wait`, 'Link: </a>', '');
const headers = (bytes: number) => {
  const line = `X-Long: ${'x'.repeat(1000)}`;
  const section = lines(...Array.from({ length: Math.floor(bytes / (line.length + 2)) - 1 }, () => line));
  const end = lines('Content-Length: 2', '');
  return section + lines(`X-Rest: ${'x'.repeat(bytes - section.length - end.length - 10)}`) + end;
};

const whole = (head: string) => `${head}ok`;

describe('a 200 that RFC 9112 allows', () => {
  const rows: [string, string | Buffer][] = [
    ['with 17 KiB of headers', `${OK}\r\n${headers(17 * 1024)}ok`],
    ['with 64 KiB of headers', `${OK}\r\n${headers(64 * 1024)}ok`],
    ['with one header of 60 KiB', whole(lines(OK, `X-Long: ${'x'.repeat(60 * 1024)}`, 'Content-Length: 2', ''))],
    ['with a folded header', whole(lines(OK, 'X-Folded: one', '  two', '\tthree', 'Content-Length: 2', ''))],
    ['with a folded last header', whole(lines(OK, 'Content-Length: 2', 'X-Folded: one', ' two', ''))],
    ['with a header folded before its value', whole(lines(OK, 'Content-Length:', ' 2', ''))],
    ['with a folded line of blanks', whole(lines(OK, 'X-Folded: one', ' ', ' two', 'Content-Length: 2', ''))],
    ['with a folded line before the first header', whole(lines(OK, ' X-Folded: one', 'Content-Length: 2', ''))],
    ['with its length twice', whole(lines(OK, 'Content-Length: 2', 'content-length: 2', ''))],
    [
      'with its length three times',
      whole(lines(OK, 'Content-Length: 2', 'A: b', 'content-length:2 ', 'CONTENT-LENGTH: 2', '')),
    ],
    ['with its length twice in one line', whole(lines(OK, 'Content-Length: 2, 2', ''))],
    ['with its length twice in a folded line', whole(lines(OK, 'Content-Length: 2,', ' 2', ''))],
    ['without a reason phrase', whole(lines('HTTP/1.1 200 ', 'Content-Length: 2', ''))],
    [
      'with a reason phrase beyond ASCII',
      Buffer.from(whole(lines('HTTP/1.1 200 \xc9t\xe9', 'Content-Length: 2', '')), 'latin1'),
    ],
    ['of a younger minor version', whole(lines('HTTP/1.4 200 OK', 'Content-Length: 2', 'Connection: close', ''))],
    ['with a header without a value', whole(lines(OK, 'X-Empty:', 'Content-Length: 2', ''))],
    ['after an empty line', whole(lines('', OK, 'Content-Length: 2', ''))],
    [
      'with chunks, extensions and trailers',
      lines(OK, 'Transfer-Encoding: Chunked', '', '2;a="b";c', 'ok', '0', 'X-After: 1', ''),
    ],
    [
      'after interim answers of several kinds',
      [103, 100, 102, 103].map(interim).join('') + whole(lines(OK, 'Content-Length: 2', '')),
    ],
    [
      'after an interim answer with 60 KiB of headers',
      lines('HTTP/1.1 103 Wait', `Link: ${'x'.repeat(60 * 1024)}`, '') + whole(lines(OK, 'Content-Length: 2', '')),
    ],
    ['after 20,000 interim answers', interim(102).repeat(20_000) + whole(lines(OK, 'Content-Length: 2', ''))],
    ['after an interim answer 101', interim(101) + whole(lines(OK, 'Content-Length: 2', ''))],
  ];

  it.each(rows)('accepts a 200 from a partner in an unusual form of HTTP: %s', async (_title, bytes) => {
    expect(summary(await outcomeOf({ bytes }))).toEqual(taken);
  });

  it('accepts a 200 that arrives from a partner byte by byte', async () => {
    const bytes =
      interim(103) +
      interim(100) +
      whole(lines(OK, 'X-Folded: one', ' two', 'Content-Length: 2', 'Content-Length: 2', ''));
    expect(summary(await outcomeOf({ bytes, drip: 1 }))).toEqual(taken);
  });

  it('accepts a 200 from a partner over a kept-alive connection', async () => {
    const bytes = whole(lines(OK, 'X-Folded: one', ' two', 'Content-Length: 2', 'Content-Length: 2', ''));
    partner.answer({ bytes, keep: true });
    const { connections } = partner;
    for (let attempt = 0; attempt < 5; attempt++) expect(summary(await put())).toEqual(taken);
    expect(partner.connections).toBe(connections + 1);
    partner.dropConnections();
  });
});

describe('an answer that is not HTTP', () => {
  const chunked = (...text: string[]) => lines(OK, 'Transfer-Encoding: chunked', '', ...text);
  const rows: [string, string | Buffer, string, string | null][] = [
    ['the banner of SSH', 'SSH-2.0-OpenSSH_9.2\r\n', 'not_http', 'SSH-2.0-OpenSSH_9.2'],
    ['the banner of SMTP', '220 mail.example ESMTP\r\n', 'not_http', '220 mail.example ESMTP'],
    ['an alert of TLS', Buffer.from([0x15, 3, 1, 0, 2, 2, 0x46]), 'not_http', '\\x15\\x03\\x01\\x00\\x02\\x02F'],
    ['HTTP/0.9', '<html>Hello</html>', 'not_http', '<html>Hello</html>'],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'not_http', 'PRI * HTTP/2.0 SM'],
    ['a frame of HTTP/2', Buffer.from([0, 0, 0, 4, 0]), 'not_http', '\\x00\\x00\\x00\\x04\\x00'],
    ['HTTP/2 written out', lines('HTTP/2 200', ''), 'http_version_unknown', 'HTTP/2 200'],
    ['HTTP/2.0 written out', lines('HTTP/2.0 200 OK', ''), 'http_version_unknown', 'HTTP/2.0 200 OK'],
    ['ICY', lines('ICY 200 OK', ''), 'not_http', 'ICY 200 OK'],
    ['a request', lines('GET / HTTP/1.1', ''), 'not_http', 'GET / HTTP/1.1'],
    ['small letters', lines('http/1.1 200 OK', ''), 'not_http', 'http/1.1 200 OK'],
    ['bytes that are NUL', Buffer.alloc(3), 'not_http', '\\x00\\x00\\x00'],
    ['a secret of ours', `${SECRET}\r\n`, 'not_http', '*'.repeat(SECRET.length)],
    ['a secret of ours, percent-encoded', encodeURIComponent(SECRET), 'not_http', '*'.repeat(18)],
    ['a NUL in a header', lines(OK, 'X: a\0b', ''), 'invalid_header_value_char', 'HTTP/1.1 200 OK X: a\\x00b'],
    ['status 000', lines('HTTP/1.1 000 None', ''), 'status_invalid', 'HTTP/1.1 000 None'],
    ['status 099', lines('HTTP/1.1 099 None', ''), 'status_invalid', 'HTTP/1.1 099 None'],
    ['status 99999', lines('HTTP/1.1 99999 Many', ''), 'status_invalid', 'HTTP/1.1 99999 Many'],
    ['a status of two digits', lines('HTTP/1.1 20 Few', ''), 'status_invalid', 'HTTP/1.1 20 Few'],
    ['a status in letters', lines('HTTP/1.1 abc Few', ''), 'status_invalid', 'HTTP/1.1 abc Few'],
    ['no status', lines('HTTP/1.1', ''), 'status_invalid', 'HTTP/1.1'],
    [
      'an upgrade and another protocol',
      `${lines('HTTP/1.1 101 Now', 'Upgrade: x', '')}hello, I am x`,
      'not_http',
      'hello, I am x',
    ],
    ['an upgrade alone', lines('HTTP/1.1 101 Now', 'Upgrade: x', ''), 'head_broken', 'HTTP/1.1 101 Now Upgrade: x'],
    [
      'lengths that differ',
      lines(OK, 'Content-Length: 1, 2', ''),
      'content_lengths_differ',
      `${OK} Content-Length: 1, 2`,
    ],
    ['a negative length', lines(OK, 'Content-Length: -1', ''), 'content_length_invalid', `${OK} Content-Length: -1`],
    ['an empty length', lines(OK, 'Content-Length:', ''), 'content_length_invalid', `${OK} Content-Length:`],
    [
      'a length of many digits',
      lines(OK, `Content-Length: ${'9'.repeat(30)}`, ''),
      'content_length_invalid',
      `${OK} Content-Length: ${'9'.repeat(30)}`,
    ],
    [
      'a length beside chunks',
      lines(OK, 'Content-Length: 5', 'Transfer-Encoding: chunked', ''),
      'content_length_beside_chunks',
      `${OK} Content-Length: 5 Transfer-Encoding: chunked`,
    ],
    ['a name with a blank', lines(OK, 'X Y: 1', ''), 'invalid_header_token', `${OK} X Y: 1`],
    ['a header without a colon', lines(OK, 'nonsense', ''), 'invalid_header_token', `${OK} nonsense`],
    ['lines that end with LF', `${OK}\nContent-Length: 0\n\n`, 'line_end_invalid', `${OK} Content-Length: 0`],
    ['a header line that ends with LF', `${OK}\r\nX: 1\n\nhello`, 'line_end_invalid', `${OK} X: 1 hello`],
    ['half a head', `${OK}\r\nX: 1`, 'head_broken', `${OK} X: 1`],
    ['half a status line', 'HTTP/1', 'head_broken', 'HTTP/1'],
    ['a chunk of no size', chunked('xyz', ''), 'invalid_character_in_chunk_size', 'xyz'],
    ['a chunk longer than its size', chunked('2', 'okok', '0', ''), 'expected_lf_after_chunk_data', 'ok'],
    ['a chunk of a size without end', chunked('f'.repeat(30), ''), 'chunk_size_overflow', 'f'.repeat(13)],
  ];

  it.each(rows)(
    'records the reason and the first bytes of a partner’s response that is not HTTP: %s',
    async (_title, bytes, reason, excerpt) => {
      expect(summary(await outcomeOf({ bytes }))).toEqual({ delivered: false, failure: 'protocol', reason, excerpt });
    },
  );

  it.each<[string, string, string]>([
    ['more than 64 KiB of headers', `${OK}\r\n${headers(64 * 1024 + 1)}ok`, 'headers_too_long'],
    ['headers without end', `${OK}\r\nX: ${'x'.repeat(200_000)}`, 'headers_too_long'],
    ['a status line without end', `HTTP/1.1 200 ${'x'.repeat(200_000)}`, 'headers_too_long'],
    ['a header line that ends with LF', `${OK}\r\nX: 1\n\nhello`, 'line_end_invalid'],
  ])('records why a response is not valid HTTP, and an excerpt of at most 2 KiB: %s', async (_title, bytes, reason) => {
    const { excerpt, ...rest } = summary(await outcomeOf({ bytes, keep: true }));
    expect(rest).toEqual({ delivered: false, failure: 'protocol', reason });
    expect(excerpt).toMatch(/^HTTP\/1\.1 /);
    expect(Buffer.byteLength(excerpt!)).toBeLessThanOrEqual(2048);
  });

  it('an attempt fails with timeout when the partner sends only interim responses', async () => {
    const { excerpt, ...rest } = summary(await outcomeOf({ bytes: interim(103).repeat(20_000), keep: true }));
    expect(rest).toEqual({ delivered: false, failure: 'timeout', reason: 'no_answer' });
    expect(excerpt).toBe('HTTP/1.1 103 Wait Link: </a>');
  });

  it('records that a response is not HTTP when the partner sends a banner before it receives the request', async () => {
    const { good, authority } = await sharedCertificates();
    const server = createServer({ cert: good.certPem, key: good.keyPem }, (socket) => {
      socket.on('error', () => undefined);
      socket.resume().end('220 mail.example ESMTP\r\n');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `https://localhost:${(server.address() as AddressInfo).port}`;
    const endpoint = { key: 'banner', url, auth: { type: 'none' } as const, caPem: authority.certPem };
    expect(summary(await client.put({ ...endpoint, waitMs: 2000, connections: 1 }, {}, '{}'))).toEqual({
      delivered: false,
      failure: 'protocol',
      reason: 'not_http',
      excerpt: '220 mail.example ESMTP',
    });
    await new Promise((resolve) => server.close(resolve));
  });
});
