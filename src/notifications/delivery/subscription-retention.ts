import { Injectable } from '@nestjs/common';
import { NotificationsConfig } from '../notifications.config.js';
import { acrossAccounts, Database, unestimated, prepared } from '../../platform/database/database.js';
import { DeliveryLoop } from './delivery-loop.js';
import { COUNTED_FROM } from './queue-upkeep.js';

const BATCH = 1000;

/**
 * Selects the subscriptions that were deleted at least $1 days ago, that have no delivery left, and that no bulk job
 * contains.
 */
const GONE = `gone AS MATERIALIZED (
  SELECT s.id FROM subscriptions s WHERE s.deleted_datetime < statement_timestamp() - make_interval(days => $1)
    AND NOT EXISTS (SELECT FROM deliveries d WHERE d.subscription_id = s.id)
    AND NOT EXISTS (SELECT FROM job_parts p WHERE p.subscription_id = s.id))`;

const REMOVE_NOTIFICATIONS = prepared(
  'subscription-retention-notifications',
  `WITH ${GONE},
   old AS MATERIALIZED (
     SELECT n.position FROM gone JOIN notifications n ON n.subscription_id = gone.id
     WHERE n.state <> 'ERROR_QUEUE' LIMIT ${BATCH}),
   attempts AS (DELETE FROM notification_attempts a USING old WHERE a.notification_position = old.position)
   DELETE FROM notifications n USING old WHERE n.position = old.position`,
  acrossAccounts.sweep,
);
const REMOVE_SUBSCRIPTIONS = prepared(
  'subscription-retention-subscriptions',
  `WITH ${GONE},
   bare AS MATERIALIZED (
     SELECT id FROM gone WHERE NOT EXISTS (SELECT FROM notifications n WHERE n.subscription_id = gone.id) LIMIT ${BATCH}),
   causes AS (DELETE FROM error_queue_causes c USING bare WHERE c.subscription_id = bare.id)
   DELETE FROM subscriptions s USING bare WHERE s.id = bare.id`,
  acrossAccounts.sweep,
);
/** Deletes past suspensions that no longer affect the time at which notifications are given up. $1: hours. */
const FORGET_SUSPENSIONS = prepared(
  'subscription-retention-suspensions',
  `UPDATE subscriptions s SET suspensions = s.suspensions * tstzmultirange(tstzrange(old.since, NULL))
   FROM (SELECT s.id, ${COUNTED_FROM} AS since FROM subscriptions s 
     WHERE s.suspensions <> '{}' AND s.suspended_datetime IS NULL) old
   WHERE s.id = old.id AND lower(s.suspensions) < old.since`,
  acrossAccounts.sweep,
);

/** Finds the deleted subscriptions among the subscriptions in $1. */
const FIND_DELETED = prepared(
  'subscription-retention-deleted',
  `SELECT id FROM unnest(${unestimated('$1::uuid[]')}) AS known (id)
   WHERE NOT EXISTS (SELECT FROM subscriptions s WHERE s.id = known.id AND s.deleted_datetime IS NULL)`,
  acrossAccounts.sweep,
);

/**
 * Deletes the rows of a deleted subscription NOTIFICATION_RETENTION_DAYS after its deletion. Also deletes old
 * suspensions. The delivery loop forgets a deleted subscription at the next run, without waiting for this period.
 */
@Injectable()
export class SubscriptionRetention {
  constructor(
    private readonly config: NotificationsConfig,
    private readonly database: Database,
    private readonly loop: DeliveryLoop,
  ) {}

  async run(): Promise<void> {
    const days = [this.config.retentionDays];
    while ((await this.database.execute(REMOVE_NOTIFICATIONS, days)) === BATCH);
    while ((await this.database.execute(REMOVE_SUBSCRIPTIONS, days)) === BATCH);
    await this.database.execute(FORGET_SUSPENSIONS, [this.config.retryGiveUpH]);
    for (const { id } of await this.database.query<{ id: string }>(FIND_DELETED, [this.loop.known()]))
      this.loop.forget(id);
  }
}
