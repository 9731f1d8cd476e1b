import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { acrossAccounts, Database, prepared } from '../../platform/database/database.js';
import { UnitOfWork } from '../../platform/unit-of-work/unit-of-work.js';
import { currentAllowedAccounts, currentAllowedSubscriptions } from '../../platform/context/request-context.js';
import { notFound } from '../../platform/errors.js';
import { FREE } from '../delivery/delivery-lease.js';
import { DeliverySignals } from '../delivery-signals.js';
import { ResendNotification, ResolveNotification } from './error-queue.commands.js';
import type { NotificationState } from '../delivery/notification.entity.js';
import { notInErrorQueue, subscriptionSuspended, subscriptionUnverified } from '../notifications.errors.js';
import type { SubscriptionState } from '../subscriptions/subscription.entity.js';
import { isUuid } from '../../platform/validation/identifiers.js';

const LOCK = prepared(
  'error-queue-lock',
  `SELECT n.position, n.state, n.subscription_id, n.account_code, s.state AS partner_state
   FROM notifications n JOIN subscriptions s ON s.id = n.subscription_id
   WHERE n.id = $1 AND ($3::uuid[] IS NULL OR n.subscription_id = ANY ($3))
     AND ($2::text[] IS NULL OR n.account_code = ANY ($2)) FOR UPDATE OF n`,
);

/**
 * Resends a notification, unless an attempt to send it is running. $1: position; $2: reason. A notification that waits
 * in a bulk job is removed from that job.
 */
const RESEND = prepared(
  'error-queue-resend',
  `WITH pending AS (
     INSERT INTO deliveries AS d (subscription_id, notification_position, booking_code, event_sequence, trigger)
     SELECT subscription_id, position, booking_code, event_sequence, 'MANUAL' FROM notifications
     WHERE position = $1 AND state = 'ERROR_QUEUE'
     ON CONFLICT ON CONSTRAINT deliveries_pk DO UPDATE
     SET trigger = 'MANUAL', job_id = NULL, lease_token = NULL, leased_until = NULL, due_datetime = excluded.due_datetime
     WHERE ${FREE}
     RETURNING d.notification_position)
   UPDATE notifications n
   SET state = 'PENDING', retry = NULL, failure = NULL, failure_reason = NULL, http_status = NULL, queued_datetime = NULL,
     reason = $2
   FROM pending WHERE n.position = pending.notification_position`,
  acrossAccounts.keyInHand,
);

/** Resolves a notification, unless an attempt to send it is running. $1: position; $2: reason. */
const RESOLVE = prepared(
  'error-queue-resolve',
  `WITH pending AS (
     DELETE FROM deliveries d USING notifications n
     WHERE n.position = $1 AND d.subscription_id = n.subscription_id AND d.notification_position = n.position
       AND ${FREE}
     RETURNING d.notification_position)
   UPDATE notifications n
   SET state = 'RESOLVED', retry = NULL, queued_datetime = NULL, resolved_datetime = statement_timestamp(), reason = $2
   WHERE n.position = $1 AND (EXISTS (SELECT FROM pending) OR NOT EXISTS (
     SELECT FROM deliveries d WHERE d.subscription_id = n.subscription_id AND d.notification_position = n.position))`,
  acrossAccounts.keyInHand,
);

interface QueuedRow {
  position: number;
  state: NotificationState;
  subscription_id: string;
  account_code: string;
  partner_state: SubscriptionState;
}

/**
 * Locks a notification in the error queue.
 * @throws DomainError `not_found`, `not_in_error_queue`
 */
async function lockQueued(database: Database, id: string): Promise<QueuedRow> {
  const reach = [currentAllowedAccounts(), currentAllowedSubscriptions()];
  const row = isUuid(id) ? await database.queryOne<QueuedRow>(LOCK, [id, ...reach]) : null;
  if (row === null) throw notFound.error({ detail: 'There is no such notification.' });
  if (row.state !== 'ERROR_QUEUE') throw notInErrorQueue.error();
  return row;
}

@CommandHandler(ResendNotification)
export class ResendNotificationHandler implements ICommandHandler<ResendNotification> {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly signals: DeliverySignals,
  ) {}

  execute({ id, reason }: ResendNotification): Promise<void> {
    return this.unitOfWork.run(async () => {
      const { position, subscription_id, account_code, partner_state } = await lockQueued(this.database, id);
      if (partner_state === 'SUSPENDED') throw subscriptionSuspended.error();
      if (partner_state === 'UNVERIFIED') throw subscriptionUnverified.error();
      if ((await this.database.execute(RESEND, [position, reason])) === 0)
        throw notInErrorQueue.error({ detail: 'A delivery attempt is in progress.' });
      this.signals.due([subscription_id]);
      this.unitOfWork.audit('notification.resend', id, { accountCode: account_code });
    });
  }
}

@CommandHandler(ResolveNotification)
export class ResolveNotificationHandler implements ICommandHandler<ResolveNotification> {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
  ) {}

  execute({ id, reason }: ResolveNotification): Promise<void> {
    return this.unitOfWork.run(async () => {
      const { position, account_code } = await lockQueued(this.database, id);
      if ((await this.database.execute(RESOLVE, [position, reason])) === 0)
        throw notInErrorQueue.error({ detail: 'A delivery attempt is in progress.' });
      this.unitOfWork.audit('notification.resolve', id, { accountCode: account_code });
    });
  }
}
