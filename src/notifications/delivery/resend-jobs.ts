import { Injectable } from '@nestjs/common';
import { Database, prepared } from '../../platform/database/database.js';
import { UnitOfWork } from '../../platform/unit-of-work/unit-of-work.js';
import { DeliverySignals } from '../delivery-signals.js';
import { RacePoints } from '../race-points.js';
import type { ResendJob } from './resend-job.entity.js';
import { decideResend, isResendDone, resendRoom, type DueItem } from './resend.rules.js';

const RUNNING = prepared(
  'resend-running',
  `SELECT id FROM resend_jobs WHERE state = 'RUNNING' ORDER BY position LIMIT 100`,
);
const LOCK_JOB = prepared(
  'resend-lock-job',
  `SELECT * FROM resend_jobs WHERE id = $1 AND state = 'RUNNING' FOR UPDATE SKIP LOCKED`,
);
const DUE_ITEMS = prepared(
  'resend-due-items',
  `SELECT i.notification_position AS position, n.state, n.subscription_id, s.health AS partner_health,
     CASE WHEN s.deleted_datetime IS NULL THEN s.state ELSE 'ACTIVE' END AS partner_state,
     EXISTS (
       SELECT FROM deliveries d WHERE d.subscription_id = n.subscription_id
         AND d.notification_position = n.position AND d.leased_until > clock_timestamp()) AS leased
   FROM resend_items i JOIN notifications n ON n.position = i.notification_position
     JOIN subscriptions s ON s.id = n.subscription_id
   WHERE i.resend_id = $1 AND i.state = 'WAITING'
   ORDER BY i.notification_position LIMIT $2 FOR UPDATE OF n`,
);
/** Items whose notification is gone altogether. */
const SKIP_GONE = prepared(
  'resend-skip-gone',
  `UPDATE resend_items i SET state = 'SKIPPED'
   WHERE i.resend_id = $1 AND i.state = 'WAITING'
     AND NOT EXISTS (SELECT FROM notifications n WHERE n.position = i.notification_position)`,
);
const MARK_ITEMS = prepared(
  'resend-mark-items',
  `UPDATE resend_items SET state = $3 WHERE resend_id = $1 AND notification_position = ANY ($2::bigint[])`,
);
const SAVE_JOB = prepared(
  'resend-save-job',
  `UPDATE resend_jobs SET state = $2, sent = $3, skipped = $4 WHERE id = $1`,
);

/**
 * $1 notifications, $2 the job, $3 the reason. Puts queued notifications back into the delivery loop, unless an automatic
 * retry holds one at this moment. Answers with those that it took.
 */
export const RESEND = prepared(
  'resend-notifications',
  `WITH owed AS (
     INSERT INTO deliveries AS d
       (subscription_id, notification_position, booking_code, event_sequence, trigger, resend_id)
     SELECT subscription_id, position, booking_code, event_sequence, 'MANUAL', $2::uuid FROM notifications
     WHERE position = ANY ($1::bigint[]) AND state = 'ERROR_QUEUE' ORDER BY position
     ON CONFLICT ON CONSTRAINT deliveries_pk DO UPDATE
     SET trigger = 'MANUAL', resend_id = excluded.resend_id, lease_token = NULL, leased_until = NULL,
       due_datetime = clock_timestamp()
     WHERE d.leased_until IS NULL OR d.leased_until < clock_timestamp()
     RETURNING d.subscription_id, d.notification_position)
   UPDATE notifications n
   SET state = 'PENDING', retry = NULL, failure = NULL, http_status = NULL, queued_datetime = NULL, reason = $3
   FROM owed WHERE n.position = owed.notification_position
   RETURNING n.position, n.subscription_id`,
);

/**
 * Bulk resends.
 *
 * 1. A job is made with its items, the matching notifications of that moment: the set is frozen.
 * 2. `advance` takes each running job in turn, in one transaction with the job's row locked, so that of several processes
 *    one does it: the next items, oldest first, become obligations of the delivery loop, and count as sent.
 * 3. The statement that records an attempt's outcome counts it in the job, too (delivery-statements.ts). It ends the
 *    job with its last item, and pauses it when the partner failed.
 * 4. Until the first delivery events go one at a time; so they do again after a pause.
 *
 * Everything is in the database, so a job goes on after a restart where it was. Never mark an item sent in another
 * transaction than the one that makes its obligation: it would be lost, or sent twice.
 */
@Injectable()
export class ResendJobs {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly signals: DeliverySignals,
    private readonly races: RacePoints,
  ) {}

  /** Sends what may be sent of all running jobs. */
  async advance(): Promise<void> {
    for (const { id } of await this.database.query<{ id: string }>(RUNNING)) {
      const woken = await this.unitOfWork.run(() => this.advanceOne(id));
      await this.signals.due([...woken]);
    }
  }

  private async advanceOne(id: string): Promise<Set<string>> {
    const woken = new Set<string>();
    const job = await this.database.queryOne<ResendJob>(LOCK_JOB, [id]);
    if (job === null) return woken;
    const room = resendRoom(job);
    if (room === 0) return woken;
    const items = await this.database.query<DueItem>(DUE_ITEMS, [id, room]);
    if (items.length === 0) job.skipped += await this.database.execute(SKIP_GONE, [id]);
    await this.races.reached('items chosen');
    const { send, skip, pause } = decideResend(job, items);
    const taken =
      send.length === 0
        ? []
        : await this.database.query<{ position: number; subscription_id: string }>(RESEND, [send, id, job.reason]);
    for (const { subscription_id } of taken) woken.add(subscription_id);
    const sent = taken.map((row) => row.position);
    if (sent.length > 0) await this.database.execute(MARK_ITEMS, [id, sent, 'SENT']);
    if (skip.length > 0) await this.database.execute(MARK_ITEMS, [id, skip, 'SKIPPED']);
    job.sent += sent.length;
    job.skipped += skip.length;
    if (isResendDone(job)) job.state = 'DONE';
    else if (pause) job.state = 'PAUSED';
    await this.database.execute(SAVE_JOB, [id, job.state, job.sent, job.skipped]);
    return woken;
  }
}
