import type { NotificationsConfig } from '../notifications.config';
import type { Database } from '../../platform/database/database';
import type { Logger } from '../../platform/observability/logger';
import { ClockWatch } from './clock-watch';

const HOUR_MS = 3600_000;

/**
 * Runs the clock watch against a simulated database. For each check, the database's clock is ahead by the next of the
 * given amounts.
 */
async function aheadAfter(...looks: number[]): Promise<number> {
  let aheadMs = 0;
  const database = {
    queryOne: () => Promise.resolve({ ms: performance.now() + aheadMs }),
    query: () => Promise.resolve([]),
  } as unknown as Database;
  const logger = { warn: () => undefined } as unknown as Logger;
  const watch = new ClockWatch({ retryGiveUpH: 24, waitMs: 10_000 } as NotificationsConfig, database, logger);
  for (const hours of looks) {
    aheadMs = hours * HOUR_MS;
    await watch.check();
  }
  return Math.round(watch.aheadH);
}

test.each([
  ['a correct clock has not jumped', [0, 0, 0], 0],
  ['a clock that is 25 hours ahead has jumped', [0, 25], 25],
  ['a clock that was ahead and was corrected is right again', [0, 25, 0], 0],
  ['a clock that was ahead at the start and is set back is right', [25, 0], 0],
  ['a clock that was set back and was corrected is right again', [0, -1, 0], 0],
  ['a clock that is slewed has not jumped', [0, 0.001, 0.002], 0],
])('detects how far the clock of the database is ahead: %s', async (_, looks, hours) => {
  expect(await aheadAfter(...looks)).toBe(hours);
});
