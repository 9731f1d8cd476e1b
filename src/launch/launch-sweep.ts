import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { Clock } from '../platform/clock.js';
import { Database, prepared } from '../platform/database/database.js';
import { Logger } from '../platform/observability/logger.js';
import { sweep } from '../platform/sweep.js';

const BATCH = 1000;
/** The time, in milliseconds, for which a launch URL returns 410 after it has expired. */
const EXPIRED_KEPT_MS = 30 * 24 * 3600_000;

const FORGET_UNUSED = prepared(
  'launch-forget-unused',
  `DELETE FROM launches WHERE token_hash IN (
     SELECT token_hash FROM launches WHERE used_at IS NULL AND expires_at < $1
     ORDER BY expires_at LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)`,
);

/** Deletes unused launches whose URLs expired long ago. The batches are small, so that they do not delay requests. */
@Injectable()
export class LaunchSweep {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {}

  @Interval(60_000)
  async run(): Promise<void> {
    const until = new Date(this.clock.now().getTime() - EXPIRED_KEPT_MS);
    await sweep(this.logger, 'launches', BATCH, [() => this.database.execute(FORGET_UNUSED, [until])]);
  }
}
