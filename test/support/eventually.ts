import { setTimeout as pause } from 'node:timers/promises';

/**
 * Waits until the check neither throws an error nor returns false. If this takes longer than the time limit, throws the
 * check's last error.
 */
export async function eventually<T>(check: () => Promise<T> | T, withinMs = 20_000): Promise<T> {
  const until = Date.now() + withinMs;
  for (;;) {
    try {
      const value = await check();
      if (value !== false) return value;
      if (Date.now() > until) throw new Error('It never came true.');
    } catch (error) {
      if (Date.now() > until) throw error;
    }
    await pause(20);
  }
}
