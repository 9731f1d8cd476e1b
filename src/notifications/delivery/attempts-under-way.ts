import type { Database } from '../../platform/database/database.js';
import type { Logger } from '../../platform/observability/logger.js';
import { BEGUN, type Claimed } from './delivery-statements.js';

/**
 * The longest pause of this process, in milliseconds, after which waiting attempts may still start. A process that was
 * paused for longer (for example by SIGSTOP) revokes its waiting attempts, because it may have missed the suspension of
 * a partner.
 */
const STOPPED_MS = 5_000;

/**
 * A claimed notification. `claimedAt` is the time, on this process's clock, at which the process requested the claim.
 * The lease began at that time or later.
 */
export interface Held extends Claimed {
  claimedAt: number;
  probe: boolean;
  /**
   * The state of an attempt. `WAITING`: the attempt has not started, for example because it waits for a connection.
   * `BEGUN`: the request is being sent. `REVOKED`: the attempt may no longer start.
   */
  progress: 'WAITING' | 'BEGUN' | 'REVOKED';
}

export function heldFrom(row: Claimed, claimedAt: number, probe: boolean): Held {
  return Object.assign(row, { claimedAt, probe, progress: 'WAITING' as const });
}

/**
 * Groups claimed notifications by partner, oldest first. The function sorts the rows, because UPDATE returns them in no
 * defined order.
 */
export function heldByPartner(rows: Claimed[], claimedAt: number): Map<string, Held[]> {
  const held = new Map<string, Held[]>();
  for (const row of rows.sort((a, b) => a.position - b.position)) {
    const item = heldFrom(row, claimedAt, false);
    const list = held.get(row.subscription_id);
    if (list) list.push(item);
    else held.set(row.subscription_id, [item]);
  }
  return held;
}

/**
 * Tracks the attempts of this process that wait for a connection or are being sent, and revokes the attempts that may
 * no longer start.
 */
export class AttemptsUnderWay {
  private readonly items = new Set<Held>();
  private lastLook = performance.now();
  probes = 0;

  constructor(
    private readonly database: Database,
    private readonly logger: Logger,
  ) {}

  add(item: Held): void {
    this.items.add(item);
    if (item.probe) this.probes += 1;
  }

  delete(item: Held): void {
    this.items.delete(item);
    if (item.probe) this.probes -= 1;
  }

  /** Marks the attempt as begun. Returns false if the attempt may no longer start. */
  begin(item: Held): boolean {
    if (item.progress === 'REVOKED' || performance.now() - this.lastLook > STOPPED_MS) return false;
    item.progress = 'BEGUN';
    return true;
  }

  /**
   * Checks whether this process was paused. The delivery loop calls this method several times a second. After a pause,
   * the method revokes the attempts that have not started, and returns their notifications. The caller must release the
   * claims of these notifications.
   */
  check(now: number): Held[] {
    const revoked = now - this.lastLook > STOPPED_MS ? this.revoke(() => true) : [];
    this.lastLook = now;
    return revoked;
  }

  /**
   * Revokes the attempts that `concerned` selects, if they have not started. If they have already begun, marks them as
   * begun in the database. Returns the notifications of the revoked attempts, whose claims the caller must release.
   */
  revoke(concerned: (item: Held) => boolean): Held[] {
    const items = [...this.items].filter(concerned);
    const waiting = items.filter(({ progress }) => progress === 'WAITING');
    for (const item of waiting) item.progress = 'REVOKED';
    const begun = items.filter(({ progress }) => progress === 'BEGUN');
    if (begun.length > 0)
      this.database
        .execute(BEGUN, [
          begun.map((item) => item.subscription_id),
          begun.map((item) => item.position),
          begun.map((item) => item.lease_token),
        ])
        // An error is only logged, because an attempt that is not marked also ends within its time limit.
        .catch((error: unknown) => this.logger.warn({ err: error }, 'attempts could not be marked as begun'));
    return waiting;
  }
}
