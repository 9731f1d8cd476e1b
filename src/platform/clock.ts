import { Injectable } from '@nestjs/common';

/** A part of the service that reacts when the sandbox moves the time. */
interface Follower {
  /**
   * Runs in the transaction that moves the time, already at the new time. It creates rows that must exist before other
   * transactions see the new time.
   */
  prepare?: () => Promise<void>;
  /** Runs at once in every process, instead of waiting for the next scheduled round. */
  catchUp?: () => Promise<void>;
}

/**
 * The only source of business time. In SQL the sandbox moves `now()`, `statement_timestamp()` and `clock_timestamp()`
 * along (sandbox/clock-schema.ts). Code that times machine work uses `MACHINE_TIME` (database/database.ts).
 */
@Injectable()
export class Clock {
  private aheadMs = 0;
  private readonly followers: Follower[] = [];

  now(): Date {
    return new Date(Date.now() + this.aheadMs);
  }

  /**
   * Returns milliseconds since the start of the process. They advance with {@link now}, and do not jump when the system
   * clock is set.
   */
  steadyMs(): number {
    return performance.now() + this.aheadMs;
  }

  follow(follower: Follower): void {
    this.followers.push(follower);
  }

  /** Prepares the followers for a new time. Only the sandbox calls it. */
  async prepare(): Promise<void> {
    for (const { prepare } of this.followers) await prepare?.();
  }

  /**
   * Sets the business time this far ahead of the machine's time; only the sandbox calls it. Resolves when all timed
   * work has caught up.
   */
  async moveTo(aheadMs: number): Promise<void> {
    if (aheadMs === this.aheadMs) return;
    this.aheadMs = aheadMs;
    await Promise.all(this.followers.map(async ({ catchUp }) => catchUp?.()));
  }
}

const DATE_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/;

/** Reads `YYYY-MM-DDThh:mm:ssZ`; null when the text has another form or names a moment that does not exist. */
export function parseDateTime(text: string): Date | null {
  if (!DATE_TIME.test(text)) return null;
  const date = new Date(text);
  // `new Date` silently turns 30 February into 1 March: only a text that formats back unchanged is a real moment.
  return !Number.isNaN(date.getTime()) && formatDateTime(date) === text ? date : null;
}

/** Writes `YYYY-MM-DDThh:mm:ssZ`; fractions of a second are truncated. */
export function formatDateTime(date: Date): string {
  return date.toISOString().slice(0, 19) + 'Z';
}

/** Formats as {@link formatDateTime}; null stays null. */
export function formatOptionalDateTime(date: Date | null): string | null {
  return date === null ? null : formatDateTime(date);
}
