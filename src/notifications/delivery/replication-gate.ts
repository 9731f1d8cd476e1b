/**
 * `CONFIRM_REPLICATED`: partners are notified of nothing that a failover could undo.
 *
 * 1. The rows of a claim were committed before it: the write-ahead log up to the present end holds all of it.
 * 2. The claim is used when as many standbys as the setting asks for have flushed the log up to there. With synchronous
 *    replication that is one more round trip; else it takes as long as the standbys lag behind.
 * 3. When they do not within `PATIENCE_MS`, what was claimed is given back and the gate is closed: nothing more is claimed.
 * 4. A closed gate is looked at once a second, and opens when enough standbys have all of the log of that moment.
 *
 * Positions in the log are compared only within one look and the polls that follow it: a failover begins a new history.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { Config } from '../../config.js';
import { Database, prepared } from '../../platform/database/database.js';
import { Logger } from '../../platform/observability/logger.js';
import { Metrics } from '../../platform/observability/metrics.js';

/** Much less than an attempt may wait for its beginning (delivery-statements.ts). */
const PATIENCE_MS = 3_000;
const POLL_MS = 5;

/** $1 how many. Visible rows are flushed here, unless commits do not wait for that. */
const LOOK = prepared(
  'delivery-replication',
  `SELECT
     pg_wal_lsn_diff(CASE current_setting('synchronous_commit') WHEN 'off' THEN pg_current_wal_insert_lsn()
       ELSE pg_current_wal_flush_lsn() END, '0/0') AS written,
     (SELECT pg_wal_lsn_diff(flush_lsn, '0/0') FROM pg_stat_replication WHERE state = 'streaming' AND flush_lsn IS NOT NULL
      ORDER BY flush_lsn DESC OFFSET $1::int - 1 LIMIT 1) AS flushed,
     (SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming') AS attached`,
);

interface Look {
  written: number;
  /** Null with fewer standbys than asked for. */
  flushed: number | null;
  attached: number;
}

@Injectable()
export class ReplicationGate {
  private readonly wanted: number;
  private attached = 0;
  private open = true;

  constructor(
    config: Config,
    private readonly database: Database,
    private readonly logger: Logger,
    { registry }: Metrics,
  ) {
    this.wanted = config.confirmReplicated;
    const registers = config.roles.has('delivery') && this.wanted > 0 ? [registry] : [];
    const figure = (name: string, help: string, read: () => number): void => {
      const gauge: Gauge = new Gauge({ name, help, registers, collect: () => gauge.set(read()) });
    };
    figure(
      'replication_standbys_wanted',
      'Standbys that must have an event before a partner is told',
      () => this.wanted,
    );
    figure('replication_standbys_attached', 'Standbys that follow the primary', () => this.attached);
    figure('notifications_held_for_replication', '1 while events wait for standbys, else 0', () => (this.open ? 0 : 1));
  }

  get isOpen(): boolean {
    return this.open;
  }

  /** Whether the standbys have everything that is visible now. False closes the gate. */
  async confirmed(): Promise<boolean> {
    if (this.wanted === 0) return true;
    const giveUpAt = performance.now() + PATIENCE_MS;
    let look = await this.look();
    const { written } = look;
    while ((look.flushed ?? -1) < written && performance.now() < giveUpAt) {
      await pause(POLL_MS);
      look = await this.look();
    }
    return this.turn((look.flushed ?? -1) >= written);
  }

  /** Looks once more at a gate that is closed. */
  async reopens(): Promise<boolean> {
    if (this.open) return true;
    const { written, flushed } = await this.look();
    return this.turn((flushed ?? -1) >= written);
  }

  private async look(): Promise<Look> {
    const look = (await this.database.queryOne<Look>(LOOK, [this.wanted]))!;
    this.attached = look.attached;
    return look;
  }

  private turn(open: boolean): boolean {
    if (this.open !== open) {
      const standbys = { standbys_attached: this.attached, standbys_wanted: this.wanted };
      if (open) this.logger.info(standbys, 'events are sent again: the standbys have them');
      else this.logger.warn(standbys, 'events wait: fewer standbys than CONFIRM_REPLICATED have confirmed them');
    }
    return (this.open = open);
  }
}
