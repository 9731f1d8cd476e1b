import { Injectable } from '@nestjs/common';
import { acrossAccounts, Database } from '../../platform/database/database.js';
import type { Job, JobKind } from '../../platform/jobs/job.entity.js';
import { acrossOf, conditionsOf, type NotificationConditions } from './notification-filter.js';

const BATCH = 5_000;
/** The time limit of an exact count, in milliseconds, after which a lower bound of the count is returned. */
const COUNT_MS = 400;
const AT_LEAST = 10_000;
const QUERY_CANCELED = '57014';

/**
 * Returns the SQL condition for the notifications that a job of the given kind can process: those that were already
 * queued or delivered at the time `since`.
 */
const SUBJECT = (kind: JobKind, { ids }: NotificationConditions, since: string): string => {
  if (kind !== 'REPLAY') return `n.queued_datetime IS NOT NULL AND n.queued_datetime <= ${since}`;
  // A partner requests notifications by their ids because it is missing them. Failed notifications are therefore
  // included as well as delivered notifications.
  return ids == null
    ? `n.delivered_datetime <= ${since}`
    : `(n.state = 'DELIVERED' AND n.delivered_datetime <= ${since} OR n.retry = 'MANUAL' AND n.queued_datetime <= ${since})`;
};

/**
 * The number of notifications that match a filter. If counting took too long, `matched` is null and `matched_at_least`
 * is a lower bound.
 */
export interface Count {
  matched: number | null;
  matched_at_least?: number;
}

/**
 * The filter conditions for which the matches can be counted in the table of the error queue's causes, without reading
 * the notifications.
 */
const OF_CAUSES: readonly string[] = [
  'account_codes',
  'account_code',
  'subscription_id',
  'failure',
  'reason',
  'http_status',
  'retry',
] satisfies (keyof NotificationConditions)[];

/**
 * Selects the number of notifications in the error queue for each cause. The columns have the names that a filter uses.
 */
const AS_NOTIFICATIONS = `SELECT c.subscription_id, s.account_code, c.retry, c.failure, c.reason AS failure_reason, c.http_status,
    'ERROR_QUEUE' AS state, c.change
  FROM error_queue_causes c JOIN subscriptions s ON s.id = c.subscription_id`;

function isOfCauses(filter: NotificationConditions): boolean {
  return Object.entries(filter).every(([name, value]) => value == null || OF_CAUSES.includes(name));
}

/** Collects the notifications of a bulk job, and counts the matching notifications before a job is created. */
@Injectable()
export class JobPreparation {
  constructor(private readonly database: Database) {}

  /**
   * Collects the next batch of a job's items, in the order of their creation. A batch that is not full is the last
   * batch. The list of items is then final. The statements are not prepared, because the best plan depends on the
   * filter. Matches in the error queue are found with an index, but the delivered notifications of a partner may cover
   * years and are scanned batch by batch.
   */
  async prepare({ id, kind, filter: stored, prepared_to }: Job): Promise<boolean> {
    const values: unknown[] = [id, prepared_to];
    const filter = stored as NotificationConditions;
    const since = '(SELECT created_datetime FROM job)';
    const fits = [SUBJECT(kind, filter, since), ...conditionsOf(filter, values)].join(' AND ');
    const { subscription_id, subscription_ids, ids } = filter;
    const among =
      kind === 'REPLAY' ? conditionsOf({ subscription_id, subscription_ids, ids }, values).join(' AND ') : fits;
    const text = `WITH job AS MATERIALIZED (
         SELECT id, created_datetime FROM jobs WHERE id = $1 AND state = 'PREPARING' AND prepared_to = $2
         FOR UPDATE SKIP LOCKED),
       stretch AS MATERIALIZED (
         SELECT n.position, n.subscription_id, ${kind === 'REPLAY' ? fits : 'true'} AS fits FROM notifications n
         WHERE ${among} AND n.position > $2 AND EXISTS (SELECT FROM job)
         ORDER BY n.position LIMIT ${BATCH}),
       items AS (
         INSERT INTO job_items (job_id, notification_position, subscription_id)
         SELECT $1, position, subscription_id FROM stretch WHERE fits RETURNING subscription_id),
       parts AS (
         INSERT INTO job_parts AS p (job_id, subscription_id, waiting)
         SELECT $1, subscription_id, count(*) FROM items GROUP BY subscription_id
         ON CONFLICT ON CONSTRAINT job_parts_pk DO UPDATE SET waiting = p.waiting + excluded.waiting),
       batch AS (SELECT count(*) < ${BATCH} AS is_last, max(position) AS last FROM stretch),
       whole AS (
         SELECT (SELECT coalesce(sum(p.waiting), 0) FROM job_parts p WHERE p.job_id = $1)::int
           + (SELECT count(*) FROM items)::int AS size)
       UPDATE jobs j SET prepared_to = coalesce(batch.last, j.prepared_to),
         state = CASE WHEN NOT batch.is_last THEN j.state WHEN whole.size = 0 THEN 'DONE' ELSE 'RUNNING' END,
         matched = CASE WHEN batch.is_last THEN whole.size END
       FROM job, batch, whole WHERE j.id = job.id`;
    return (await this.database.execute({ text, across: acrossAccounts.workers }, values)) > 0;
  }

  /** Counts the notifications that match a filter, in the current unit of work. */
  async count(kind: JobKind, filter: NotificationConditions): Promise<Count> {
    const values: unknown[] = [];
    if (kind !== 'REPLAY' && isOfCauses(filter)) {
      const where = ['true', ...conditionsOf(filter, values)].join(' AND ');
      const text = `SELECT coalesce(sum(change), 0)::int AS matched FROM (${AS_NOTIFICATIONS}) n WHERE ${where}`;
      const across = acrossOf(filter) ?? acrossAccounts.boundAround;
      return (await this.database.queryOne<{ matched: number }>({ text, across }, values))!;
    }
    const where = [SUBJECT(kind, filter, 'statement_timestamp()'), ...conditionsOf(filter, values)].join(' AND ');
    const count = async (limit: string) => {
      const text = `SELECT count(*) AS matched FROM (SELECT FROM notifications n WHERE ${where} ${limit}) found`;
      return (await this.database.queryOne<{ matched: number }>({ text, across: acrossOf(filter) }, values))!.matched;
    };
    const bounded = async (limit: string) => {
      await this.database.execute({ text: 'SAVEPOINT counting' });
      try {
        await this.database.execute({ text: `SET LOCAL statement_timeout = ${COUNT_MS}` });
        return await count(limit);
      } catch (error) {
        if ((error as { code?: unknown }).code === QUERY_CANCELED) return null;
        throw error;
      } finally {
        // The rollback to the savepoint also resets the settings that the counting query has changed.
        await this.database.execute({ text: 'ROLLBACK TO counting' });
      }
    };
    const matched = await bounded('');
    if (matched !== null) return { matched };
    return { matched, matched_at_least: (await bounded(`LIMIT ${AT_LEAST}`)) ?? 0 };
  }
}
