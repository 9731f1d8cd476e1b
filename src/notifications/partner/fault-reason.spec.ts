import { errors } from 'undici';
import { isNetworkFault, reasonOf } from './fault-reason.js';

/** Every error of undici that has a code. */
const UNDICI = Object.entries(errors).flatMap(([name, type]) => {
  const make = type as new (message: string, ...more: unknown[]) => Error & { code?: string };
  const { code } = new make('x', 500, { headers: {} });
  return code === undefined ? [] : [{ name, code }];
});

it.each(UNDICI)('the reason for the HTTP library’s error $name does not mention the library', ({ code }) => {
  const reason = reasonOf(Object.assign(new Error('x'), { code }));
  expect(reason).toMatch(/^[A-Za-z_]+$/);
  expect(reason).not.toMatch(/und|hpe|ERR/);
});

it('the list of HTTP library errors that these tests use is not empty: it has more than twenty codes', () => {
  const codes = UNDICI.map(({ code }) => code);
  expect(codes).toEqual(expect.arrayContaining(['UND_ERR', 'UND_ERR_SOCKET', 'UND_ERR_DESTROYED']));
  expect(codes.length).toBeGreaterThan(20);
});

it.each<[string, object, string]>([
  ['the partner closed the connection', new errors.SocketError('other side closed'), 'ECONNRESET'],
  ['the operating system’s error', { code: 'ECONNREFUSED' }, 'ECONNREFUSED'],
  ['OpenSSL’s error', { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }, 'DEPTH_ZERO_SELF_SIGNED_CERT'],
  [
    'a syntax error with a text in brackets',
    new errors.HTTPParserError('Response does not match (Invalid header token)'),
    'invalid_header_token',
  ],
  ['a syntax error without a text', new errors.HTTPParserError('x'), 'invalid'],
  ['a parser’s code', { code: 'HPE_INVALID_VERSION' }, 'unknown'],
  ['no code', new Error('x'), 'unknown'],
])('returns a short code as the reason for a failed request: %s', (_title, error, expected) => {
  expect(reasonOf(error)).toBe(expected);
});

it('treats a connection that the partner closed as a network error', () => {
  expect(isNetworkFault(new errors.SocketError('other side closed'))).toBe(true);
});
