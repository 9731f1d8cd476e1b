import type { FailureClass } from '../partner/partner-connection';
import type { AttemptOutcome } from '../partner/attempt-outcome';
import { isBusy, isOverload, isPartnerLevel, retryAfter } from './outcome.rules';

const outcome = (failure: FailureClass | null, httpStatus: number | null = null): AttemptOutcome => ({
  delivered: failure === null,
  failure,
  httpStatus,
  reason: null,
  excerpt: null,
  durationMs: 1,
  retryAfterS: null,
  earlier: [],
  beganMs: 0,
});

describe('the retry after a failure', () => {
  const everything = ['500', '429', '408', '502', '503', '504', 'timeout', 'connection'];
  test.each([
    ['server_error', 500, 'AUTO', 'AUTO'],
    ['server_error', 502, 'MANUAL', 'AUTO'],
    ['server_error', 503, 'MANUAL', 'AUTO'],
    ['server_error', 504, 'MANUAL', 'AUTO'],
    ['server_error', 501, 'MANUAL', 'MANUAL'],
    ['server_error', 599, 'MANUAL', 'MANUAL'],
    ['timeout', null, 'MANUAL', 'AUTO'],
    ['timeout', 200, 'MANUAL', 'AUTO'],
    ['connect', null, 'MANUAL', 'AUTO'],
    ['dns', null, 'MANUAL', 'AUTO'],
    ['tls', null, 'MANUAL', 'MANUAL'],
    ['auth', 401, 'MANUAL', 'MANUAL'],
    ['redirect', 302, 'MANUAL', 'MANUAL'],
    ['client_error', 400, 'MANUAL', 'MANUAL'],
    ['client_error', 408, 'MANUAL', 'AUTO'],
    ['client_error', 429, 'AUTO', 'AUTO'],
    ['protocol', 201, 'MANUAL', 'MANUAL'],
    ['blocked', null, 'MANUAL', 'MANUAL'],
  ] as const)(
    'a failure of class %s with status %s has the retry mode %s by default, and %s if auto_retry_on lists every cause',
    (failure, status, byDefault, widened) => {
      expect(retryAfter(outcome(failure, status), ['500', '429'])).toBe(byDefault);
      expect(retryAfter(outcome(failure, status), everything)).toBe(widened);
    },
  );
});

test.each([
  ['token_http_500', 'AUTO', 'AUTO'],
  ['token_http_503', 'MANUAL', 'AUTO'],
  ['token_http_400', 'MANUAL', 'MANUAL'],
  ['token_late', 'MANUAL', 'AUTO'],
  ['token_timeout_no_answer', 'MANUAL', 'AUTO'],
  ['token_connect_ECONNREFUSED', 'MANUAL', 'AUTO'],
  ['token_dns_ENOTFOUND', 'MANUAL', 'AUTO'],
  ['token_malformed', 'MANUAL', 'MANUAL'],
] as const)(
  'the token error %s has the retry mode %s by default, and %s if auto_retry_on lists "503", "timeout" and "connection"',
  (reason, byDefault, widened) => {
    const failed = { ...outcome('auth'), reason };
    expect(retryAfter(failed, ['500', '429'])).toBe(byDefault);
    expect(retryAfter(failed, ['500', '503', 'timeout', 'connection'])).toBe(widened);
  },
);

test('status 429 means that the partner is busy, and so does status 503 if the subscription retries 503', () => {
  expect(isBusy(outcome('client_error', 429), ['500'])).toBe(true);
  expect(isBusy(outcome('server_error', 503), ['500', '429'])).toBe(false);
  expect(isBusy(outcome('server_error', 503), ['500', '503'])).toBe(true);
  expect(isBusy(outcome('server_error', 500), ['500', '503'])).toBe(false);
});

test('a token endpoint that answers 429 or 503 with Retry-After counts as busy if the subscription retries that status', () => {
  const failed = (status: number, retryAfterS: number | null) =>
    isBusy({ ...outcome('auth'), reason: `token_http_${status}`, retryAfterS }, ['500', '429']);
  expect([failed(429, 3), failed(429, null), failed(503, 3), failed(500, 3)]).toEqual([true, false, false, false]);
  const reason = 'token_http_503';
  expect(isBusy({ ...outcome('auth'), reason, retryAfterS: 3 }, ['500', '503'])).toBe(true);
  expect(isBusy({ ...outcome('auth', 401), reason, retryAfterS: 3 }, ['500', '503'])).toBe(false);
});

test('attributes a failure with status 400 to the event, and a TLS failure to the partner', () => {
  expect(isPartnerLevel(outcome('client_error', 400))).toBe(false);
  expect(isPartnerLevel(outcome('tls'))).toBe(true);
  expect(isPartnerLevel(outcome(null, 200))).toBe(false);
});

test('a timeout or a failed connection counts as an overload, even at the token endpoint; an error status does not', () => {
  const failures: (FailureClass | null)[] = ['timeout', 'connect', 'dns', 'tls', 'auth', 'server_error', null];
  expect(failures.map((failure) => isOverload(outcome(failure)))).toEqual([true, true, true, ...Array(4).fill(false)]);
  const reasons = [
    'token_late',
    'token_answer_late',
    'token_timeout_no_answer',
    'token_connect_ECONNREFUSED',
    'token_http_500',
  ];
  expect(reasons.map((reason) => isOverload({ ...outcome('auth'), reason }))).toEqual([true, true, true, true, false]);
});
