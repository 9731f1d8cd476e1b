import { randomUUID } from 'node:crypto';
import { CommandHandler, QueryBus, type ICommandHandler } from '@nestjs/cqrs';
import { Clock } from '../../platform/clock.js';
import { Database, prepared } from '../../platform/database/database.js';
import { UnitOfWork } from '../../platform/unit-of-work/unit-of-work.js';
import { notFound } from '../../platform/errors.js';
import { assertAccountKnown } from '../../platform/known-accounts.js';
import { requestContext } from '../../platform/context/request-context.js';
import { DeliverySignals } from '../delivery-signals.js';
import { ResendMatching, ResendNotification, ResolveNotification, SteerResend } from './error-queue.commands.js';
import type { NotificationState } from '../delivery/notification.entity.js';
import { conditionsOf } from './notification-reader.js';
import type { NotificationFilter } from './notifications.dto.js';
import {
  notInErrorQueue,
  resendFinished,
  subscriptionSuspended,
  subscriptionUnverified,
} from '../notifications.errors.js';
import { ResendJob } from '../delivery/resend-job.entity.js';
import { RESEND } from '../delivery/resend-jobs.js';
import type { SubscriptionState } from '../subscriptions/subscription.entity.js';
import { isUuid } from '../../platform/validation/identifiers.js';

const LOCK = prepared(
  'error-queue-lock',
  `SELECT n.position, n.state, n.subscription_id, s.state AS partner_state
   FROM notifications n JOIN subscriptions s ON s.id = n.subscription_id WHERE n.id = $1 FOR UPDATE OF n`,
);

/** $1 position, $2 reason. Not while an automatic retry holds it. */
const RESOLVE = prepared(
  'error-queue-resolve',
  `WITH owed AS (
     DELETE FROM deliveries d USING notifications n
     WHERE n.position = $1 AND d.subscription_id = n.subscription_id AND d.notification_position = n.position
       AND (d.leased_until IS NULL OR d.leased_until < clock_timestamp())
     RETURNING d.notification_position)
   UPDATE notifications n
   SET state = 'RESOLVED', retry = NULL, queued_datetime = NULL, resolved_datetime = clock_timestamp(), reason = $2
   WHERE n.position = $1 AND (EXISTS (SELECT FROM owed) OR NOT EXISTS (
     SELECT FROM deliveries d WHERE d.subscription_id = n.subscription_id AND d.notification_position = n.position))`,
);

interface QueuedRow {
  position: number;
  state: NotificationState;
  subscription_id: string;
  partner_state: SubscriptionState;
}

/** @throws DomainError `not_found`, `not_in_error_queue` */
async function lockQueued(database: Database, id: string): Promise<QueuedRow> {
  const row = isUuid(id) ? await database.queryOne<QueuedRow>(LOCK, [id]) : null;
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
      const { position, subscription_id, partner_state } = await lockQueued(this.database, id);
      if (partner_state === 'SUSPENDED') throw subscriptionSuspended.error();
      if (partner_state === 'UNVERIFIED') throw subscriptionUnverified.error();
      const taken = await this.database.query(RESEND, [[position], null, reason]);
      if (taken.length === 0) throw notInErrorQueue.error({ detail: 'An automatic retry is under way.' });
      await this.signals.dueAfterCommit([subscription_id]);
      this.unitOfWork.audit('notification.resend', id);
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
      const { position } = await lockQueued(this.database, id);
      if ((await this.database.execute(RESOLVE, [position, reason])) === 0)
        throw notInErrorQueue.error({ detail: 'An automatic retry is under way.' });
      this.unitOfWork.audit('notification.resolve', id);
    });
  }
}

@CommandHandler(ResendMatching)
export class ResendMatchingHandler implements ICommandHandler<ResendMatching> {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
    private readonly queryBus: QueryBus,
  ) {}

  async execute({ filter, reason, dryRun }: ResendMatching): Promise<{ resend_id: string | null; matched: number }> {
    await assertAccountKnown(this.queryBus, filter.account_code, { pointer: '/filter/account_code' });
    if (dryRun) return { resend_id: null, matched: await this.count(filter) };
    return this.unitOfWork.run(async () => {
      const id = randomUUID();
      await this.database.manager.insert(ResendJob, {
        id,
        state: 'RUNNING',
        filter,
        reason,
        actor: requestContext().caller?.username ?? 'system',
        matched: 0,
        created_datetime: this.clock.now(),
      });
      const matched = await this.freeze(id, filter);
      await this.database.manager.update(ResendJob, id, { matched, ...(matched === 0 ? { state: 'DONE' } : {}) });
      this.unitOfWork.audit('error-queue.resend', id);
      return { resend_id: id, matched };
    });
  }

  private async count(filter: NotificationFilter): Promise<number> {
    const values: unknown[] = [];
    const text = `SELECT count(*) AS matched FROM notifications n WHERE ${queuedOnly(filter, values)}`;
    return (await this.database.queryOne<{ matched: number }>({ text }, values))!.matched;
  }

  private freeze(id: string, filter: NotificationFilter): Promise<number> {
    const values: unknown[] = [id];
    const text = `INSERT INTO resend_items (resend_id, notification_position)
      SELECT $1, n.position FROM notifications n WHERE ${queuedOnly(filter, values)}`;
    return this.database.execute({ text }, values);
  }
}

function queuedOnly(filter: NotificationFilter, values: unknown[]): string {
  return ['n.queued_datetime IS NOT NULL', ...conditionsOf(filter, values)].join(' AND ');
}

@CommandHandler(SteerResend)
export class SteerResendHandler implements ICommandHandler<SteerResend> {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
  ) {}

  execute({ resendId, action }: SteerResend): Promise<ResendJob> {
    return this.unitOfWork.run(async () => {
      const job = isUuid(resendId)
        ? await this.database.manager.findOne(ResendJob, {
            where: { id: resendId },
            lock: { mode: 'pessimistic_write' },
          })
        : null;
      if (job === null) throw notFound.error({ detail: 'There is no such resend.' });
      if (job.state === 'DONE' || job.state === 'ABORTED') throw resendFinished.error();
      job.state = action === 'pause' ? 'PAUSED' : action === 'abort' ? 'ABORTED' : 'RUNNING';
      // What stopped it may not be mended: begin with one again.
      if (action === 'resume') job.canary = true;
      await this.database.manager.update(ResendJob, resendId, { state: job.state, canary: job.canary });
      this.unitOfWork.audit(`error-queue.resend-${action}`, resendId);
      return job;
    });
  }
}
