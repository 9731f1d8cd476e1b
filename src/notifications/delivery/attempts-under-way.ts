import type { Database } from '../../platform/database/database.js';
import type { Logger } from '../../platform/observability/logger.js';
import { BEGUN, type Claimed } from './delivery-statements.js';

/** A process that has been stopped for so long may have missed that a partner was suspended. */
const STOPPED_MS = 5_000;

/** A claimed notification and when, on the clock of this process, the claim was asked for: its lease is no older. */
export interface Held extends Claimed {
  claimedAt: number;
  probe: boolean;
  /** `WAITING` for its turn or a connection; `BEGUN`: the request is on its way; `REVOKED`: it may not begin any more. */
  progress: 'WAITING' | 'BEGUN' | 'REVOKED';
}

export function heldFrom(row: Claimed, claimedAt: number, probe: boolean): Held {
  return Object.assign(row, { claimedAt, probe, progress: 'WAITING' as const });
}

/** Returns the rows of one claim in the order in which they were made: UPDATE returns rows in none. */
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

/** The attempts of this process that wait for their connection or are on their way; which of them may still begin. */
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

  /** Whether the request may go on its way, now that it could. */
  begin(item: Held): boolean {
    if (item.progress === 'REVOKED' || performance.now() - this.lastLook > STOPPED_MS) return false;
    item.progress = 'BEGUN';
    return true;
  }

  /** Several times a second: when it was not, nothing may begin that had not. Answers with what is to be given back. */
  look(now: number): Held[] {
    const revoked = now - this.lastLook > STOPPED_MS ? this.revoke(() => true) : [];
    this.lastLook = now;
    return revoked;
  }

  /** Keeps attempts from beginning, and marks those that have begun in the database. Returns the items to give back. */
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
        // They end in time.
        .catch((error: unknown) => this.logger.warn({ err: error }, 'attempts could not be marked as begun'));
    return waiting;
  }
}
