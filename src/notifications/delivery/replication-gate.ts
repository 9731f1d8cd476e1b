/**
 * Enforces `CONFIRM_REPLICATED`: partners are notified only of changes that a failover cannot undo.
 *
 * 1. The rows of a claim were committed before the claim. The write-ahead log therefore contains them up to the
 *    position at which it ends at that time.
 * 2. The claimed notifications are sent once the configured number of standbys have flushed the log up to that
 *    position. With synchronous replication, this takes one more round trip. Otherwise, the claim waits until the
 *    standbys have caught up.
 * 3. If the standbys do not confirm within `PATIENCE_MS`, the claim is released and the gate closes. While the gate is
 *    closed, nothing is claimed.
 * 4. A closed gate is checked once a second. It opens when enough standbys have the whole log up to the time of the
 *    check.
 *
 * Log positions from different checks are never compared, because a failover begins a new timeline.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { ProcessConfig } from '../../platform/process.config.js';
import { NotificationsConfig } from '../notifications.config.js';
import { Database, prepared } from '../../platform/database/database.js';
import { Logger } from '../../platform/observability/logger.js';
import { Metrics } from '../../platform/observability/metrics.js';

/**
 * The time, in milliseconds, for which a claim waits for the standby databases. It is much shorter than the time within
 * which an attempt must start (`MAY_START_MS`).
 */
const PATIENCE_MS = 3_000;
const POLL_MS = 5;

/**
 * Compares log positions. $1: the number of standbys that must confirm. Normally, every visible row is in the flushed
 * part of this server's log. If commits do not wait for the flush, the end of the whole log is used instead.
 */
const PROGRESS = prepared(
  'delivery-replication',
  `SELECT
     pg_wal_lsn_diff(CASE current_setting('synchronous_commit') WHEN 'off' THEN pg_current_wal_insert_lsn()
       ELSE pg_current_wal_flush_lsn() END, '0/0') AS written,
     (SELECT pg_wal_lsn_diff(flush_lsn, '0/0') FROM pg_stat_replication WHERE state = 'streaming' AND flush_lsn IS NOT NULL
      ORDER BY flush_lsn DESC OFFSET $1::int - 1 LIMIT 1) AS flushed,
     (SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming') AS attached`,
);

interface Progress {
  written: number;
  /**
   * The position up to which enough standbys have flushed the log; null if fewer standbys are connected than required.
   */
  flushed: number | null;
  attached: number;
}

@Injectable()
export class ReplicationGate {
  private readonly wanted: number;
  private attached = 0;
  private open = true;

  constructor(
    config: NotificationsConfig,
    { roles }: ProcessConfig,
    private readonly database: Database,
    private readonly logger: Logger,
    { registry }: Metrics,
  ) {
    this.wanted = config.confirmReplicated;
    const registers = roles.has('delivery') && this.wanted > 0 ? [registry] : [];
    const figure = (name: string, help: string, read: () => number): void => {
      const gauge: Gauge = new Gauge({ name, help, registers, collect: () => gauge.set(read()) });
    };
    figure(
      'replication_standbys_wanted',
      'Standbys that must have an event before a partner is notified',
      () => this.wanted,
    );
    figure('replication_standbys_attached', 'Standbys that follow the primary', () => this.attached);
    figure('notifications_held_for_replication', '1 while events wait for standbys, else 0', () => (this.open ? 0 : 1));
  }

  get isOpen(): boolean {
    return this.open;
  }

  /** Returns whether enough standby databases have every change that is visible now. If not, closes the gate. */
  async confirmed(): Promise<boolean> {
    if (this.wanted === 0) return true;
    const giveUpAt = performance.now() + PATIENCE_MS;
    let progress = await this.readProgress();
    const { written } = progress;
    while ((progress.flushed ?? -1) < written && performance.now() < giveUpAt) {
      await pause(POLL_MS);
      progress = await this.readProgress();
    }
    return this.turn((progress.flushed ?? -1) >= written);
  }

  /** If the gate is closed, checks whether enough standbys now have the whole log. Returns whether the gate is open. */
  async reopens(): Promise<boolean> {
    if (this.open) return true;
    const { written, flushed } = await this.readProgress();
    return this.turn((flushed ?? -1) >= written);
  }

  private async readProgress(): Promise<Progress> {
    const progress = (await this.database.queryOne<Progress>(PROGRESS, [this.wanted]))!;
    this.attached = progress.attached;
    return progress;
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
