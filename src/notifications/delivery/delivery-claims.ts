import type { NotificationsConfig } from '../notifications.config.js';
import type { Database } from '../../platform/database/database.js';
import type { RacePoints } from '../race-points.js';
import { leaseToken } from './delivery-lease.js';
import { CLAIM, CLAIM_PROBES, type Claimed } from './delivery-statements.js';
import type { ClockWatch } from './clock-watch.js';
import type { ReplicationGate } from './replication-gate.js';

/** The claimed rows, and a time just before the claim. The leases of the rows began at this time or later. */
export interface Claim {
  rows: Claimed[];
  claimedAt: number;
}

/** Claims notifications for this process; see delivery-statements.ts. */
export class Claims {
  constructor(
    private readonly config: NotificationsConfig,
    private readonly database: Database,
    private readonly races: RacePoints,
    private readonly replication: ReplicationGate,
    private readonly clock: ClockWatch,
    private readonly giveBack: (rows: Claimed[]) => void,
  ) {}

  /**
   * Claims due notifications for the given partners.
   * @param capacities the number of notifications to claim for each partner
   */
  async of(capacities: ReadonlyMap<{ readonly id: string }, number>): Promise<Claim> {
    const ids = [...capacities.keys()].map(({ id }) => id);
    const claimedAt = performance.now();
    const values = [ids, [...capacities.values()], this.config.waitMs, leaseToken(), ...this.clock.trust()];
    const rows = await this.database.query<Claimed>(CLAIM, values);
    if (rows.length > 0) await this.races.reached('claimed');
    return { rows: (await this.areReplicated(rows)) ? rows : [], claimedAt };
  }

  /**
   * Claims the next probes of DOWN partners.
   * @param most the maximum number of partners to probe
   */
  async probes(most: number): Promise<Claim> {
    const claimedAt = performance.now();
    const values = [this.config.waitMs, most, leaseToken(), ...this.clock.trust()];
    const rows = await this.database.query<Claimed>(CLAIM_PROBES, values);
    if (rows.length > 0) await this.races.reached('probe claimed');
    return { rows: (await this.areReplicated(rows)) ? rows : [], claimedAt };
  }

  /**
   * Returns whether enough standby databases have received the rows of the claimed notifications. Only then may the
   * notifications be sent. Otherwise, releases the claims.
   */
  async areReplicated(rows: readonly Claimed[]): Promise<boolean> {
    const may = rows.length === 0 || (await this.replication.confirmed().catch(() => false));
    if (!may) this.giveBack([...rows]);
    return may;
  }
}
