import { retryAfterSeconds } from './retry-after';

const NOW = Date.parse('2030-05-14T10:00:00Z');

test.each([
  ['5', 5],
  [' 30 ', 30],
  ['0', 1],
  ['-20', 1],
  ['1.5', 1.5],
  ['31536000', 3600],
  ['99999999999999999999999', 3600],
  ['Tue, 14 May 2030 10:00:42 GMT', 42],
  ['Tuesday, 14-May-30 10:00:42 GMT', 42],
  ['Tue May 14 10:00:42 2030 GMT', 42],
  ['Tue, 14 May 2030 09:00:00 GMT', 1],
  ['Wed, 14 May 2031 10:00:00 GMT', 3600],
  ['soon', null],
  ['', null],
  ['5 minutes', null],
  ['1e3', null],
  ['Tue, 99 May 2030', null],
])('Retry-After %p means %p seconds', (value, seconds) => {
  expect(retryAfterSeconds(value, NOW)).toBe(seconds);
});

test('a response without Retry-After sets no delay', () => {
  expect(retryAfterSeconds(null, NOW)).toBeNull();
});
