import { retakeAllowedFrom } from './retake.rules.js';

const day = (n: number) => new Date(Date.UTC(2030, 0, n));
const allowedOn = (...args: Parameters<typeof retakeAllowedFrom>) => retakeAllowedFrom(...args)?.toISOString() ?? null;
const on = (n: number) => day(n).toISOString();
const AT_ONCE = new Date(0).toISOString();

describe('the time from which the next attempt is allowed', () => {
  it.each([
    ['at once without an earlier attempt', { wait_days: 30, max_attempts: 1 }, [], AT_ONCE],
    ['wait_days after the newest attempt, in whatever order attempts are listed', { wait_days: 30 }, [1, 5, 3], on(35)],
    ['at once while attempts are left', { max_attempts: 2, period_days: 10 }, [1], AT_ONCE],
    ['when the oldest attempt that counts leaves the period', { max_attempts: 2, period_days: 10 }, [1, 5, 8], on(15)],
    ['at the later of the two limits', { wait_days: 9, max_attempts: 2, period_days: 10 }, [1, 5], on(14)],
    ['at no time when all attempts are used', { max_attempts: 2 }, [1, 5], null],
    ['at once when the policy limits nothing', {}, [1, 2, 3], AT_ONCE],
  ])('the next attempt is allowed %s', (_title, policy, days, expected) => {
    expect(allowedOn(policy, days.map(day))).toBe(expected);
  });
});
