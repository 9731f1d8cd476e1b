import type { Config } from '../../config.js';
import type { Database } from '../../platform/database/database.js';
import type { RacePoints } from '../race-points.js';
import { leaseToken } from './delivery-lease.js';
import { CLAIM, CLAIM_PROBES, type Claimed } from './delivery-statements.js';
import type { ReplicationGate } from './replication-gate.js';

/** Claimed rows and the moment before the claim was asked for: the leases are no older. */
export interface Claim {
  rows: Claimed[];
  claimedAt: number;
}

/** Claims for one process; see delivery-statements.ts. */
export class Claims {
  constructor(
    private readonly config: Config,
    private readonly database: Database,
    private readonly races: RacePoints,
    private readonly replication: ReplicationGate,
    private readonly giveBack: (rows: Claimed[]) => void,
  ) {}

  /** @param rooms how many to claim for each partner */
  async of(rooms: ReadonlyMap<{ readonly id: string }, number>): Promise<Claim> {
    const ids = [...rooms.keys()].map(({ id }) => id);
    const claimedAt = performance.now();
    const values = [ids, [...rooms.values()], this.config.notificationWaitMs, leaseToken()];
    const rows = await this.database.query<Claimed>(CLAIM, values);
    if (rows.length > 0) await this.races.reached('claimed');
    return { rows: (await this.mayBeTold(rows)) ? rows : [], claimedAt };
  }

  /** The next probe of so many partners at most. */
  async probes(most: number): Promise<Claim> {
    const claimedAt = performance.now();
    const rows = await this.database.query<Claimed>(CLAIM_PROBES, [this.config.notificationWaitMs, most, leaseToken()]);
    if (rows.length > 0) await this.races.reached('probe claimed');
    return { rows: (await this.mayBeTold(rows)) ? rows : [], claimedAt };
  }

  /** Whether claimed notifications may be sent; else they are given back. */
  async mayBeTold(rows: readonly Claimed[]): Promise<boolean> {
    const may = rows.length === 0 || (await this.replication.confirmed().catch(() => false));
    if (!may) this.giveBack([...rows]);
    return may;
  }
}
