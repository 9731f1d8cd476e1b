import { Injectable } from '@nestjs/common';

/** A part of the service that follows when the sandbox moves the time. */
interface Follower {
  /** In the transaction that moves it, already at the new time: what must be there before anybody else sees it. */
  prepare?: () => Promise<void>;
  /** At once, in every process: a round that would be far away otherwise. */
  catchUp?: () => Promise<void>;
}

/**
 * The one source of business time. SQL has it by the names `now()`, `statement_timestamp()` and `clock_timestamp()`, which the
 * sandbox moves along (sandbox/clock-schema.ts); what measures the work of machines has `MACHINE_TIME` (database/database.ts).
 */
@Injectable()
export class Clock {
  private aheadMs = 0;
  private readonly followers: Follower[] = [];

  now(): Date {
    return new Date(Date.now() + this.aheadMs);
  }

  /** Milliseconds since the start of the process, which pass as {@link now} does, and do not jump when the machine's clock is set. */
  steadyMs(): number {
    return performance.now() + this.aheadMs;
  }

  follow(follower: Follower): void {
    this.followers.push(follower);
  }

  /** For the sandbox, which alone moves the time. */
  async prepare(): Promise<void> {
    for (const { prepare } of this.followers) await prepare?.();
  }

  /** For the sandbox: time is so far ahead of the machine's. Resolves when what waits for time has caught up. */
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
  // `new Date` silently turns 30 February into 1 March: only a text that comes back unchanged is a real moment.
  return !Number.isNaN(date.getTime()) && formatDateTime(date) === text ? date : null;
}

/** Writes `YYYY-MM-DDThh:mm:ssZ`; fractions are cut off. */
export function formatDateTime(date: Date): string {
  return date.toISOString().slice(0, 19) + 'Z';
}

/** As {@link formatDateTime}; null stays null. */
export function formatOptionalDateTime(date: Date | null): string | null {
  return date === null ? null : formatDateTime(date);
}
