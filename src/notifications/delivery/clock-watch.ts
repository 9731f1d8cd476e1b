import { Injectable } from '@nestjs/common';
import { NotificationsConfig } from '../notifications.config.js';
import { acrossAccounts, Database, MACHINE_TIME, prepared } from '../../platform/database/database.js';
import { Logger } from '../../platform/observability/logger.js';
import { LEASE_EXTRA_S, type ClockTrust } from './delivery-lease.js';
import { RELEASE } from './delivery-statements.js';

/**
 * The smallest change, in milliseconds, of the difference between the database's clock and this process's clock that
 * counts as a jump. Gradual corrections by NTP (clock slewing) stay below it.
 */
const JUMP_MS = 5_000;
/**
 * A lease that ends implausibly late is released after the partner's wait time plus this time, in milliseconds. By
 * then, the attempt under this lease has ended and been recorded.
 */
const LEFT_ALONE_MS = 15_000;
const MOST_LEASES = 1000;
/**
 * All leases from before a jump have ended this many milliseconds after the jump. The time is longer than the longest
 * lease.
 */
const ENDED_MS = 700_000;

const NOW = prepared('clock-now', `SELECT (date_part('epoch', ${MACHINE_TIME}) * 1000)::float8 AS ms`);

/**
 * Finds leases that end later than any lease granted now could end. $1: the default wait time. For a notification that
 * was polled, the lease time that the partner chose is used instead of the wait time.
 */
const TOO_LONG = prepared(
  'clock-leases-too-long',
  `SELECT d.subscription_id, d.notification_position AS position, d.lease_token AS token, lasts.ms AS wait_ms
   FROM deliveries d JOIN subscriptions s ON s.id = d.subscription_id
     LEFT JOIN poll_offers o ON o.notification_position = d.notification_position AND o.lease_token = d.lease_token
     CROSS JOIN LATERAL (SELECT coalesce(o.lease_s * 1000, s.wait_ms, $1::int) AS ms) lasts
   WHERE d.leased_until > ${MACHINE_TIME} + make_interval(secs => lasts.ms / 1000.0 + ${LEASE_EXTRA_S + JUMP_MS / 1000})
   LIMIT ${MOST_LEASES}`,
  acrossAccounts.workers,
);

interface Lease {
  subscription_id: string;
  position: number;
  token: number;
  wait_ms: number;
}

/**
 * Detects jumps of the database's clock, by comparing it with this process's monotonic clock.
 *
 * 1. A forward jump must not make notifications seem older. The age at which they are given up (`retryGiveUpH`) is
 *    increased by the size of the jump, until the clock has jumped back or `retryGiveUpH` hours have passed.
 * 2. A forward jump must not end leases early: their workers may be sending. The end of each lease from before the jump
 *    is compared with the time that the clock would show without the jump (`trust`).
 * 3. After a backward jump, and after its own start, the process looks for leases that end too late. It measures their
 *    remaining time on its own clock, and releases them when their attempts must have ended. Never release such a lease
 *    immediately: its worker may be sending.
 */
@Injectable()
export class ClockWatch {
  private offsetMs: number | null = null;
  /**
   * The difference between the two clocks, for deciding whether leases have expired. After a recent forward jump, this
   * is the difference before the jump.
   */
  private trustedOffsetMs: number | null = null;
  /**
   * The time at which the last forward jump was detected. Null if there was no such jump, or if it no longer affects
   * any lease.
   */
  private jumpedAt: number | null = null;
  private jumps: { readonly at: number; readonly ms: number }[] = [];
  private readonly seen = new Map<string, number>();
  private watching = true;

  constructor(
    private readonly config: NotificationsConfig,
    private readonly database: Database,
    private readonly logger: Logger,
  ) {}

  /**
   * The number of hours by which the clock has jumped forward in the last `retryGiveUpH` hours. Notifications are given
   * up when they are `retryGiveUpH` hours old.
   */
  get aheadH(): number {
    const since = performance.now() - this.config.retryGiveUpH * 3600_000;
    this.jumps = this.jumps.filter(({ at }) => at > since);
    return Math.max(0, this.jumps.reduce((sum, { ms }) => sum + ms, 0) / 3600_000);
  }

  /** Returns the values about the database's clock that statements need when they grant leases or let leases expire. */
  trust(): ClockTrust {
    const now = performance.now();
    if (this.trustedOffsetMs === null) return [Infinity, 0];
    const jumpedS = this.jumpedAt === null ? 0 : (now - this.jumpedAt) / 1000;
    return [(now + this.trustedOffsetMs + JUMP_MS) / 1000, jumpedS];
  }

  /** Compares the database's clock with this process's clock; called about once a second. */
  async check(): Promise<void> {
    const before = performance.now();
    const { ms } = (await this.database.queryOne<{ ms: number }>(NOW))!;
    this.compare(ms, before);
    if (this.watching) await this.freeOverlong();
  }

  private compare(machineMs: number, now: number): void {
    const jump = machineMs - now - (this.offsetMs ?? machineMs - now);
    this.learn(machineMs - now, now);
    this.offsetMs = machineMs - now;
    if (Math.abs(jump) < JUMP_MS) return;
    this.logger.warn({ jump_s: Math.round(jump / 1000) }, 'the clock of the database has jumped');
    this.jumps.push({ at: now, ms: jump });
    this.watching ||= jump < 0;
  }

  private learn(offsetMs: number, now: number): void {
    const before = this.offsetMs ?? offsetMs;
    this.trustedOffsetMs ??= before;
    const sinceJump = this.jumpedAt === null ? Infinity : now - this.jumpedAt;
    if (offsetMs > before + JUMP_MS) {
      // If there was another jump shortly before, `trustedOffsetMs` is not changed, because leases from before that
      // earlier jump may still be valid.
      if (sinceJump > ENDED_MS) this.trustedOffsetMs = before;
      this.jumpedAt = now;
    } else if (sinceJump > ENDED_MS || offsetMs <= this.trustedOffsetMs + JUMP_MS) {
      this.trustedOffsetMs = offsetMs;
      this.jumpedAt = null;
    }
  }

  private async freeOverlong(): Promise<void> {
    const leases = await this.database.query<Lease>(TOO_LONG, [this.config.waitMs]);
    const now = performance.now();
    const keyOf = ({ subscription_id, position, token }: Lease) => `${subscription_id} ${position} ${token}`;
    const present = new Set(leases.map(keyOf));
    for (const key of this.seen.keys()) if (!present.has(key)) this.seen.delete(key);
    for (const key of present) if (!this.seen.has(key)) this.seen.set(key, now);
    const ended = leases.filter((lease) => now - this.seen.get(keyOf(lease))! > lease.wait_ms + LEFT_ALONE_MS);
    if (ended.length > 0)
      await this.database.execute(RELEASE, [
        ended.map((lease) => lease.subscription_id),
        ended.map(({ position }) => position),
        ended.map(({ token }) => token),
      ]);
    this.watching = leases.length > 0;
  }
}
