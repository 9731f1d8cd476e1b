import { Injectable } from '@nestjs/common';

/** A part of the service that must react when the sandbox's clock is moved. */
interface Follower {
  /**
   * Creates rows that must exist before other transactions see the new time. The function runs in the transaction that
   * moves the clock, in which the new time is already visible.
   */
  prepare?: () => Promise<void>;
  /**
   * Does all work that is due at the new time. Every process calls this method as soon as the clock has moved, instead
   * of waiting for the next scheduled round.
   */
  catchUp?: () => Promise<void>;
}

/**
 * The only source of business time. In SQL, the sandbox's clock also applies to `now()`, `statement_timestamp()` and
 * `clock_timestamp()` (sandbox/clock-schema.ts). Code that measures how long the service itself takes uses
 * `MACHINE_TIME` (database/database.ts).
 */
@Injectable()
export class Clock {
  private aheadMs = 0;
  private readonly followers: Follower[] = [];

  now(): Date {
    return new Date(Date.now() + this.aheadMs);
  }

  /**
   * Returns the milliseconds since the process started, plus the time by which business time is ahead of the machine's
   * time. The value advances like {@link now}, but does not jump when the system clock is set.
   */
  steadyMs(): number {
    return performance.now() + this.aheadMs;
  }

  follow(follower: Follower): void {
    this.followers.push(follower);
  }

  /** Calls {@link Follower.prepare} of every registered part of the service. Only the sandbox moves the clock. */
  async prepare(): Promise<void> {
    for (const { prepare } of this.followers) await prepare?.();
  }

  /**
   * Sets, before the application starts, how far business time is ahead of the machine's time. The call triggers no
   * work: in its first scheduled round, each part of the service does the work that is due. Only the sandbox calls this
   * method.
   */
  startAt(aheadMs: number): void {
    this.aheadMs = aheadMs;
  }

  /**
   * Sets how far business time is ahead of the machine's time. Resolves when all work that is due at the new time is
   * done. Only the sandbox calls this method.
   */
  async moveTo(aheadMs: number): Promise<void> {
    if (aheadMs === this.aheadMs) return;
    this.aheadMs = aheadMs;
    await Promise.all(this.followers.map(async ({ catchUp }) => catchUp?.()));
  }
}

const DATE_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/;

/**
 * Parses a time of the form `YYYY-MM-DDThh:mm:ssZ`. Returns null for any other form, and for a time that does not exist
 * in the calendar.
 */
export function parseDateTime(text: string): Date | null {
  if (!DATE_TIME.test(text)) return null;
  const date = new Date(text);
  // `new Date` silently turns 30 February into 1 March. A time is therefore valid only if formatting the parsed date
  // gives the same text.
  return !Number.isNaN(date.getTime()) && formatDateTime(date) === text ? date : null;
}

/** Formats a time as `YYYY-MM-DDThh:mm:ssZ`. Fractions of a second are dropped. */
export function formatDateTime(date: Date): string {
  return date.toISOString().slice(0, 19) + 'Z';
}

/** Formats a time like {@link formatDateTime}; returns null for null. */
export function formatOptionalDateTime(date: Date | null): string | null {
  return date === null ? null : formatDateTime(date);
}
