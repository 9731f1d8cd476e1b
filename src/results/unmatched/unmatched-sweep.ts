import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { Clock } from '../../platform/clock.js';
import { Logger } from '../../platform/observability/logger.js';
import { sweep } from '../../platform/sweep.js';
import { ResultQuota } from '../records/result-quota.js';
import { UnmatchedStore } from './unmatched-store.js';

const KEPT_MS = 30 * 86_400_000;
/**
 * The number of rows that one statement deletes. The number is small, because each body may be several megabytes long.
 */
const BATCH = 20;

/**
 * Deletes unmatched results after 30 days, and the byte counts of past days. Several processes may sweep at the same
 * time.
 */
@Injectable()
export class UnmatchedSweep {
  constructor(
    private readonly store: UnmatchedStore,
    private readonly quota: ResultQuota,
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {
    clock.follow({ catchUp: () => this.run() });
  }

  @Interval(60_000)
  async run(): Promise<void> {
    const before = new Date(this.clock.now().getTime() - KEPT_MS);
    await sweep(this.logger, 'unmatched results', BATCH, [
      () => this.store.sweep(before, BATCH),
      () => this.quota.sweep(BATCH),
    ]);
  }
}
