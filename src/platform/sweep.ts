import type { Logger } from './observability/logger.js';

/**
 * Runs one round of work in batches: each kind of batch is repeated until a batch is not full. A failure ends the round
 * and is logged; the next round continues.
 * @param what the name of the swept data, for the log
 * @param size of a full batch, in rows
 * @param batches each returns the number of its rows
 */
export async function sweep(
  logger: Logger,
  what: string,
  size: number,
  batches: readonly (() => Promise<number>)[],
): Promise<void> {
  try {
    for (const batch of batches) while ((await batch()) === size);
  } catch (error) {
    logger.warn({ err: error }, `the sweep of ${what} failed; the next round tries again`);
  }
}
