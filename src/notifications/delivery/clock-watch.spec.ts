import { setTimeout as pause } from 'node:timers/promises';
import type { NotificationsConfig } from '../notifications.config';
import type { Database } from '../../platform/database/database';
import type { Logger } from '../../platform/observability/logger';
import { ClockWatch } from './clock-watch';

const HOUR_MS = 3600_000;

/** Returns a clock watch for a simulated database whose clock is `aheadMs.now` milliseconds ahead. */
function watchOf(aheadMs: { now: number }): ClockWatch {
  const database = {
    queryOne: () => Promise.resolve({ ms: performance.now() + aheadMs.now }),
    query: () => Promise.resolve([]),
  } as unknown as Database;
  const logger = { warn: () => undefined } as unknown as Logger;
  return new ClockWatch({ retryGiveUpH: 24, waitMs: 10_000 } as NotificationsConfig, database, logger);
}

/**
 * Returns a clock watch that has made one check for each argument. Each argument is the number of hours by which the
 * database's clock is ahead at this check.
 */
async function watchAfter(...hoursAhead: number[]): Promise<ClockWatch> {
  const aheadMs = { now: 0 };
  const watch = watchOf(aheadMs);
  for (const hours of hoursAhead) {
    aheadMs.now = hours * HOUR_MS;
    await watch.check();
  }
  return watch;
}

test.each([
  ['a correct clock has not jumped', [0, 0, 0], 0],
  ['a clock that is 25 hours ahead has jumped', [0, 25], 25],
  ['a clock that was ahead and was corrected is right again', [0, 25, 0], 0],
  ['a clock that was ahead at the start and is set back is right', [25, 0], 0],
  ['a clock that was set back and was corrected is right again', [0, -1, 0], 0],
  ['a clock that is slewed has not jumped', [0, 0.001, 0.002], 0],
])('detects how far ahead the database clock is: %s', async (_, looks, hours) => {
  expect(Math.round((await watchAfter(...looks)).aheadH)).toBe(hours);
});

test.each([
  ['a correct clock', [0, 0], 0],
  ['a clock that has jumped forward counts with its time before the jump', [0, 1, 1], 0],
  ['a clock that was ahead and was corrected', [0, 1, 0], 0],
  ['a clock that was set back', [0, -1], -1],
  ['a clock that was set back and has jumped forward twice', [0, -1, 0, 1], -1],
  ['a clock that is slewed', [0, 0.001, 0.002], 0.002],
])('forward jumps of the database clock do not make leases expire earlier: %s', async (_, looks, hours) => {
  const [upTo] = (await watchAfter(...looks)).trust();
  // The clock watch adds a tolerance of five seconds.
  expect(upTo - performance.now() / 1000 - hours * 3600).toBeCloseTo(5, 0);
});

test('while the database clock is ahead, reports the time since the last forward jump of the clock', async () => {
  const aheadMs = { now: 0 };
  const watch = watchOf(aheadMs);
  await watch.check();
  for (const hours of [1, 2]) {
    aheadMs.now = hours * HOUR_MS;
    await watch.check();
    await pause(30);
    await watch.check();
    expect(watch.trust()[1]).toBeGreaterThanOrEqual(0.029);
    expect(watch.trust()[1]).toBeLessThan(0.058);
  }
  aheadMs.now = 0;
  await watch.check();
  expect(watch.trust()[1]).toBe(0);
});

test('until the first check of the database clock, leases expire according to this clock', async () =>
  expect((await watchAfter()).trust()).toEqual([Infinity, 0]));
