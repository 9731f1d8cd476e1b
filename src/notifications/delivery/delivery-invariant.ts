import { Injectable } from '@nestjs/common';
import { Database, prepared } from '../../platform/database/database.js';
import { DeliveryMetrics } from './delivery-metrics.js';

/** How long something may be due without anybody working on it. */
const PATIENCE_S = 60;
const MOST_COUNTED = 100_000;

/**
 * Nothing unfinished whose time is long past: no event that nobody translated, no partner with due notifications of
 * which none is in the hands of a worker, no partner that is DOWN whose probe is not sent. A partner that is slow, and
 * has a long queue because of that, breaks nothing.
 */
const OVERDUE = prepared(
  'delivery-overdue',
  `WITH RECURSIVE lane AS (
     (SELECT subscription_id FROM deliveries ORDER BY subscription_id LIMIT 1)
     UNION ALL
     SELECT (SELECT d.subscription_id FROM deliveries d WHERE d.subscription_id > lane.subscription_id
             ORDER BY d.subscription_id LIMIT 1)
     FROM lane WHERE lane.subscription_id IS NOT NULL),
   due AS (
     SELECT s.id, s.health, CASE s.health WHEN 'DOWN' THEN s.next_probe_at
       ELSE greatest(first.due_datetime, s.health_changed_at, s.updated_datetime) END AS since
     FROM lane JOIN subscriptions s ON s.id = lane.subscription_id CROSS JOIN LATERAL (
       SELECT coalesce(d.leased_until, d.due_datetime) AS due_datetime FROM deliveries d
       WHERE d.subscription_id = s.id ORDER BY d.notification_position LIMIT 1) first
     WHERE s.state = 'ACTIVE' AND s.deleted_datetime IS NULL),
   late AS (
     SELECT due.* FROM due WHERE due.since < clock_timestamp() - interval '${PATIENCE_S} seconds' AND NOT EXISTS (
       SELECT FROM deliveries d WHERE d.subscription_id = due.id AND d.leased_until > clock_timestamp()))
   SELECT
     (SELECT count(*) FROM late) + (
       SELECT count(*) FROM domain_events
       WHERE settled_at IS NULL AND claimed_until < clock_timestamp() - interval '${PATIENCE_S} seconds'
         AND name LIKE 'booking.%') AS overdue,
     coalesce((SELECT extract(epoch FROM clock_timestamp() - min(since)) FROM due WHERE health = 'UP'), 0)::float8 AS oldest_s,
     (SELECT count(*) FROM (SELECT FROM deliveries LIMIT ${MOST_COUNTED}) counted) AS waiting,
     coalesce((SELECT sum(change) FROM error_queue_counts WHERE retry = 'AUTO'), 0)::int AS auto,
     coalesce((SELECT sum(change) FROM error_queue_counts WHERE retry = 'MANUAL'), 0)::int AS manual`,
);

interface Figures {
  overdue: number;
  oldest_s: number;
  waiting: number;
  auto: number;
  manual: number;
}

/** Looks whether the invariant holds, and tells the metrics. */
@Injectable()
export class DeliveryInvariant {
  private violations = 0;

  constructor(
    private readonly database: Database,
    private readonly metrics: DeliveryMetrics,
  ) {}

  /** Held broken when it was found so three times in a row: between two claims a partner is in nobody's hands. */
  get isBroken(): boolean {
    return this.violations >= 3;
  }

  async check(): Promise<void> {
    const figures = (await this.database.queryOne<Figures>(OVERDUE))!;
    this.violations = figures.overdue > 0 ? this.violations + 1 : 0;
    this.metrics.overdue.set(figures.overdue);
    this.metrics.oldestDueSeconds.set(Math.max(0, figures.oldest_s));
    this.metrics.waiting.set(figures.waiting);
    this.metrics.errorQueue.set({ retry: 'AUTO' }, figures.auto);
    this.metrics.errorQueue.set({ retry: 'MANUAL' }, figures.manual);
  }
}
