import { Injectable } from '@nestjs/common';
import { NotificationsConfig } from '../notifications.config.js';
import { acrossAccounts, Database, prepared } from '../../platform/database/database.js';

const BATCH = 5_000;

/** Selects the bulk jobs that have ended and were created at least $1 days ago. */
const OLD = `old AS MATERIALIZED (
  SELECT id FROM jobs WHERE state IN ('DONE', 'ABORTED')
    AND created_datetime < statement_timestamp() - make_interval(days => $1))`;

const REMOVE_ITEMS = prepared(
  'job-retention-items',
  `WITH ${OLD},
   batch AS MATERIALIZED (
     SELECT i.job_id, i.notification_position FROM old JOIN job_items i ON i.job_id = old.id LIMIT ${BATCH})
   DELETE FROM job_items i USING batch
   WHERE i.job_id = batch.job_id AND i.notification_position = batch.notification_position`,
  acrossAccounts.sweep,
);
const REMOVE_JOBS = prepared(
  'job-retention-jobs',
  `WITH ${OLD},
   bare AS MATERIALIZED (
     SELECT id FROM old WHERE NOT EXISTS (SELECT FROM job_items i WHERE i.job_id = old.id) LIMIT ${BATCH}),
   parts AS (DELETE FROM job_parts p USING bare WHERE p.job_id = bare.id)
   DELETE FROM jobs j USING bare WHERE j.id = bare.id`,
  acrossAccounts.sweep,
);

/**
 * Deletes ended bulk jobs in batches, together with their lists of notifications. A job is deleted
 * NOTIFICATION_RETENTION_DAYS after its creation.
 */
@Injectable()
export class JobRetention {
  constructor(
    private readonly config: NotificationsConfig,
    private readonly database: Database,
  ) {}

  async run(): Promise<void> {
    const days = [this.config.retentionDays];
    while ((await this.database.execute(REMOVE_ITEMS, days)) === BATCH);
    while ((await this.database.execute(REMOVE_JOBS, days)) === BATCH);
  }
}
