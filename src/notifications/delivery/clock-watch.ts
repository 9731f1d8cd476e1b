import { Injectable } from '@nestjs/common';
import { NotificationsConfig } from '../notifications.config.js';
import { acrossAccounts, Database, MACHINE_TIME, prepared } from '../../platform/database/database.js';
import { Logger } from '../../platform/observability/logger.js';
import { LEASE_EXTRA_S, type ClockTrust } from './delivery-lease.js';
import { RELEASE } from './delivery-statements.js';

/**
 * The size of the smallest clock jump, in milliseconds. A jump is a change, from one check to the next, in the
 * difference between the database's clock and this process's clock. Gradual corrections by NTP (clock slewing) are
 * smaller.
 */
const JUMP_MS = 5_000;
/**
 * The time, in milliseconds, that is added to the partner's wait time before a lease that ends implausibly late is
 * released. By then, the attempt under this lease has ended and been recorded.
 */
const LEFT_ALONE_MS = 15_000;
const MOST_LEASES = 1000;
/** The time, in milliseconds, within which all leases from before a jump end. It is longer than the longest lease. */
const ENDED_MS = 700_000;

const NOW = prepared('clock-now', `SELECT (date_part('epoch', ${MACHINE_TIME}) * 1000)::float8 AS ms`);

/**
 * Finds leases that end later than any lease that could be granted now. $1: the default wait time. For the lease of a
 * polled notification, the statement uses the lease time that the partner chose instead of the wait time.
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
 * 1. A forward jump must not make the service give up notifications too early. The age at which the service gives up
 *    notifications (`retryGiveUpH`) is therefore increased by the size of the jump, until the clock has jumped back or
 *    `retryGiveUpH` hours have passed.
 * 2. A forward jump must not end leases early, because their workers may still be sending. The end of each lease from
 *    before the jump is therefore compared with the time that the clock would show without the jump (`trust`).
 * 3. After a backward jump, and after its own start, the process looks for leases that end too late. On its own clock,
 *    it waits until the attempts under these leases must have ended. Then it releases the leases. Never release such a
 *    lease immediately, because its worker may still be sending.
 */
@Injectable()
export class ClockWatch {
  private offsetMs: number | null = null;
  /**
   * The difference between the two clocks, in milliseconds, that decides whether leases have expired. After a recent
   * forward jump, the value is the difference from before the jump.
   */
  private trustedOffsetMs: number | null = null;
  /**
   * The time at which the last forward jump was detected. Null if there was no such jump, or if the jump no longer
   * affects any lease.
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
   * The number of hours by which the database's clock has jumped forward in the last `retryGiveUpH` hours. Backward
   * jumps reduce the number.
   */
  get aheadH(): number {
    const since = performance.now() - this.config.retryGiveUpH * 3600_000;
    this.jumps = this.jumps.filter(({ at }) => at > since);
    return Math.max(0, this.jumps.reduce((sum, { ms }) => sum + ms, 0) / 3600_000);
  }

  /** Returns the values with which statements decide whether a lease has expired, even after the clock has jumped. */
  trust(): ClockTrust {
    const now = performance.now();
    if (this.trustedOffsetMs === null) return [Infinity, 0];
    const jumpedS = this.jumpedAt === null ? 0 : (now - this.jumpedAt) / 1000;
    return [(now + this.trustedOffsetMs + JUMP_MS) / 1000, jumpedS];
  }

  /** Compares the database's clock with this process's clock. The schedule calls this method about once a second. */
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
