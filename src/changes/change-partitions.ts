import { setTimeout as pause } from 'node:timers/promises';
import { Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { ChangesConfig } from './changes.config.js';
import { Clock } from '../platform/clock.js';
import { acrossAccounts, Database, prepared } from '../platform/database/database.js';
import { serviceUnavailable } from '../platform/errors.js';
import { Logger } from '../platform/observability/logger.js';
import { UnitOfWork } from '../platform/unit-of-work/unit-of-work.js';

const DAY_MS = 86_400_000;

const KEEP = prepared('changes-keep-partitions', 'SELECT keep_change_partitions($1)');
const FIND_PRESENT = prepared(
  'changes-find-present',
  `SELECT 1 WHERE to_regclass('changes_' || to_char(now() AT TIME ZONE 'UTC', 'YYYYMM')) IS NOT NULL`,
);
const IS_STRANGER = `(change_epoch.system_identifier, change_epoch.table_oid)
  <> (cluster.system_identifier::text, 'changes'::regclass::oid::bigint)`;
const FIND_STRANGER = prepared(
  'changes-find-stranger',
  `SELECT 1 FROM change_epoch, pg_control_system() AS cluster WHERE ${IS_STRANGER}`,
);
// Blocks all writers while a new epoch begins. Once the epoch is visible, no transaction may write entries of the old
// epoch.
const HOLD_WRITERS = prepared('changes-hold-writers', 'LOCK TABLE changes IN EXCLUSIVE MODE', acrossAccounts.sweep);
const BEGIN_EPOCH = prepared(
  'changes-begin-epoch',
  `UPDATE change_epoch SET epoch = epoch + 1, system_identifier = cluster.system_identifier::text,
     table_oid = 'changes'::regclass::oid::bigint
   FROM pg_control_system() AS cluster WHERE ${IS_STRANGER}`,
);

/**
 * Creates the partitions of the coming months, and drops expired partitions. Begins a new epoch after the table was
 * restored from a dump. After a restore, the cluster's identifier or the table's oid differs from the stored value.
 * Several processes may do this at the same time.
 */
@Injectable()
export class ChangePartitions implements OnApplicationBootstrap {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
    private readonly config: ChangesConfig,
    private readonly logger: Logger,
  ) {
    clock.follow({ prepare: () => this.makePresent(), catchUp: () => this.run() });
  }

  /**
   * Creates the partitions of the change feed before the first change is written. If no process has run for months, the
   * partition of the current month is missing.
   */
  async onApplicationBootstrap(): Promise<void> {
    await this.keep();
  }

  @Interval(60_000)
  async run(): Promise<void> {
    try {
      await this.keep();
    } catch (error) {
      this.logger.warn(
        { err: error },
        'the partitions of the change feed could not be maintained; the next round tries again',
      );
    }
  }

  private async keep(): Promise<void> {
    if (await this.database.queryOne(FIND_STRANGER)) await this.beginEpoch();
    // Entries are kept a day longer than the retention period, because the feed allows a day for late transactions
    // (change-feed.ts).
    const keptFrom = new Date(this.clock.now().getTime() - (this.config.retentionDays + 1) * DAY_MS);
    await this.database.query(KEEP, [keptFrom]);
  }

  /** Creates the table partition for the new current month before a move of the sandbox's clock completes. */
  private async makePresent(): Promise<void> {
    for (let tries = 10; tries > 0; tries--) {
      await this.database.query(KEEP, ['-infinity']);
      if (await this.database.queryOne(FIND_PRESENT)) return;
      await pause(100);
    }
    throw serviceUnavailable.error();
  }

  private async beginEpoch(): Promise<void> {
    await this.unitOfWork.run(async () => {
      await this.database.execute(HOLD_WRITERS);
      await this.database.execute(BEGIN_EPOCH);
    });
    this.logger.warn({}, 'the database has been restored: the change feed continues in a new generation');
  }
}
