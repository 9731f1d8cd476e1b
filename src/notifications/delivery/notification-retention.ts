import { Injectable } from '@nestjs/common';
import { NotificationsConfig } from '../notifications.config.js';
import { acrossAccounts, Database, prepared } from '../../platform/database/database.js';

const BATCH = 1000;

/**
 * Deletes old delivered notifications. $1: the position after which to search; $2: days. A range of the table is
 * scanned by its primary key, oldest first, because an index on the delivery time would need a new entry for every
 * delivery. No notification is delivered before it is created, so a round ends at the first range whose newest row is
 * too young.
 */
const REMOVE = prepared(
  'notification-retention',
  `WITH stretch AS MATERIALIZED (
     SELECT position, subscription_id, state, created_datetime, delivered_datetime FROM notifications
     WHERE position > $1 ORDER BY position LIMIT ${BATCH}),
   old AS (
     SELECT position FROM stretch
     WHERE state = 'DELIVERED' AND delivered_datetime < statement_timestamp() - make_interval(days => $2)
       -- The condition keeps notifications that are being replayed.
       AND NOT EXISTS (SELECT FROM deliveries d
         WHERE d.subscription_id = stretch.subscription_id AND d.notification_position = stretch.position)),
   attempts AS (DELETE FROM notification_attempts a USING old WHERE a.notification_position = old.position),
   removed AS (DELETE FROM notifications n USING old WHERE n.position = old.position RETURNING n.position)
   SELECT max(position) AS last, (SELECT count(*) FROM removed) AS removed,
     bool_and(created_datetime > statement_timestamp() - make_interval(days => $2)) AS is_young FROM stretch`,
  acrossAccounts.sweep,
);

/** Deletes delivered notifications after NOTIFICATION_RETENTION_DAYS. Notifications in the error queue stay. */
@Injectable()
export class NotificationRetention {
  constructor(
    private readonly config: NotificationsConfig,
    private readonly database: Database,
  ) {}

  /** Deletes the delivered notifications whose retention period is over; returns their number. */
  async run(): Promise<number> {
    let total = 0;
    for (let after = 0; ;) {
      const stretch = await this.database.queryOne<{ last: number | null; removed: number; is_young: boolean | null }>(
        REMOVE,
        [after, this.config.retentionDays],
      );
      if (stretch === null || stretch.last === null) return total;
      total += stretch.removed;
      if (stretch.is_young === true) return total;
      after = stretch.last;
    }
  }
}
