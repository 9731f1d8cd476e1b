import type { Logger } from './observability/logger.js';

/**
 * Runs one round of a sweep in batches. Each function in `batches` is repeated until its batch is not full. An error is
 * logged and ends the round; the next round processes the remaining rows.
 * @param what the name of the data, for the log
 * @param size the number of rows in a full batch
 * @param batches functions that each process one batch and return the number of its rows
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
