import { Injectable } from '@nestjs/common';
import { Clock } from '../../platform/clock.js';
import { RECORD_EVENT_STORED_AT } from '../../platform/changes/record-event.js';
import { acrossAccounts, Database, MACHINE_TIME, prepared } from '../../platform/database/database.js';
import { DeliveryMetrics } from './delivery-metrics.js';
import { EVENT_NAMES } from './translation-statement.js';

/** The time, in seconds, for which due notifications may wait for a worker before they count as overdue. */
const PATIENCE_S = 60;
const MOST_COUNTED = 100_000;

/**
 * Finds overdue work: partners with due notifications that no worker has claimed, DOWN partners to which no probe is
 * sent, and events that were not translated into notifications. $1: the names of the events that this release can
 * translate. A long queue of a slow partner does not count as overdue.
 */
const OVERDUE = prepared(
  'delivery-overdue',
  `WITH RECURSIVE queue AS (
     (SELECT subscription_id FROM deliveries ORDER BY subscription_id LIMIT 1)
     UNION ALL
     SELECT (SELECT d.subscription_id FROM deliveries d WHERE d.subscription_id > queue.subscription_id
             ORDER BY d.subscription_id LIMIT 1)
     FROM queue WHERE queue.subscription_id IS NOT NULL),
   due AS (
     SELECT s.id, s.health, CASE s.health WHEN 'DOWN' THEN s.next_probe_at
       ELSE greatest(first.due_datetime, s.health_changed_at, s.updated_datetime, s.paused_until) END AS since
     FROM queue JOIN subscriptions s ON s.id = queue.subscription_id CROSS JOIN LATERAL (
       SELECT coalesce(d.leased_until, d.due_datetime) AS due_datetime FROM deliveries d
       WHERE d.subscription_id = s.id ORDER BY d.notification_position LIMIT 1) first
     WHERE s.state = 'ACTIVE' AND s.deleted_datetime IS NULL),
   late AS (
     SELECT due.* FROM due WHERE due.since < statement_timestamp() - interval '${PATIENCE_S} seconds' AND NOT EXISTS (
       SELECT FROM deliveries d WHERE d.subscription_id = due.id AND d.leased_until > ${MACHINE_TIME}))
   SELECT
     (SELECT count(*) FROM late) AS overdue, (SELECT min(since) FROM late) AS overdue_since,
     untranslated.age_s AS untranslated_s, untranslated.unknown_age_s, untranslated.set_aside,
     coalesce((SELECT extract(epoch FROM statement_timestamp() - min(since)) FROM due WHERE health = 'UP'), 0)::float8 AS oldest_s,
     (SELECT count(*) FROM (SELECT FROM deliveries LIMIT ${MOST_COUNTED}) counted) AS waiting,
     coalesce((SELECT sum(change) FROM error_queue_causes WHERE retry = 'AUTO'), 0)::int AS auto,
     coalesce((SELECT sum(change) FROM error_queue_causes WHERE retry = 'MANUAL'), 0)::int AS manual
   FROM (
     SELECT
       coalesce(extract(epoch FROM now() - min(since) FILTER (
         WHERE set_aside_at IS NULL AND name = ANY ($1::text[]))), 0)::float8 AS age_s,
       coalesce(extract(epoch FROM now() - min(since) FILTER (
         WHERE set_aside_at IS NULL AND name <> ALL ($1::text[]))), 0)::float8 AS unknown_age_s,
       count(*) FILTER (WHERE set_aside_at IS NOT NULL) AS set_aside
     FROM (
       SELECT name, set_aside_at,
         CASE WHEN name LIKE 'record.%' THEN ${RECORD_EVENT_STORED_AT} ELSE occurred_at END AS since
       FROM domain_events WHERE settled_at IS NULL AND name LIKE ANY ('{booking.%,record.%}')) unsettled) untranslated`,
  acrossAccounts.workers,
);

interface Figures {
  overdue: number;
  overdue_since: Date | null;
  untranslated_s: number;
  unknown_age_s: number;
  set_aside: number;
  oldest_s: number;
  waiting: number;
  auto: number;
  manual: number;
}

/** Checks that no due work is left undone, and updates the metrics. */
@Injectable()
export class DeliveryInvariant {
  private untranslatedS = 0;

  constructor(
    private readonly database: Database,
    private readonly metrics: DeliveryMetrics,
    private readonly clock: Clock,
  ) {}

  /**
   * Whether delivery is broken, which means that events are not translated into notifications. Overdue notifications to
   * a partner do not count as broken delivery, because a lock on a single row can delay them. Only the metrics show
   * overdue notifications.
   */
  get isBroken(): boolean {
    return this.untranslatedS > PATIENCE_S;
  }

  /** Returns the time since which due work has been left undone; null if all due work is done. */
  async stalledSince(): Promise<Date | null> {
    const { overdue_since, untranslated_s } = await this.figures();
    if (untranslated_s <= PATIENCE_S) return overdue_since;
    const since = this.clock.now().getTime() - untranslated_s * 1000;
    return new Date(Math.min(since, overdue_since?.getTime() ?? since));
  }

  private async figures(): Promise<Figures> {
    return (await this.database.queryOne<Figures>(OVERDUE, [EVENT_NAMES]))!;
  }

  async check(): Promise<void> {
    const figures = await this.figures();
    this.untranslatedS = figures.untranslated_s;
    this.metrics.overdue.set(figures.overdue);
    this.metrics.untranslatedSeconds.set(Math.max(0, figures.untranslated_s, figures.unknown_age_s));
    this.metrics.setAside.set(figures.set_aside);
    this.metrics.oldestDueSeconds.set(Math.max(0, figures.oldest_s));
    this.metrics.waiting.set(figures.waiting);
    this.metrics.errorQueue.set({ retry: 'AUTO' }, figures.auto);
    this.metrics.errorQueue.set({ retry: 'MANUAL' }, figures.manual);
  }
}
