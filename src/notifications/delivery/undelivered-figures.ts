import { Injectable } from '@nestjs/common';
import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { Gauge } from 'prom-client';
import { ProcessConfig } from '../../platform/process.config.js';
import { Clock } from '../../platform/clock.js';
import { acrossAccounts, Database } from '../../platform/database/database.js';
import { Metrics } from '../../platform/observability/metrics.js';
import { startsIn } from './exam-in.js';
import { CountUndelivered, EXAM_IN, type UndeliveredCount } from '../notifications.queries.js';

/** The maximum share of the process's time that counting may take. Counting is slow for a long error queue. */
const SHARE = 1 / 20;

/**
 * Counts the undelivered notifications: those in the error queue, and those without an attempt. $1: the current time. A
 * notification that is being replayed does not count, because it was delivered before.
 */
const COUNT = `
  WITH undelivered AS (
    SELECT account_code, booking_code, created_datetime FROM notifications WHERE queued_datetime IS NOT NULL
    UNION ALL
    SELECT n.account_code, n.booking_code, n.created_datetime
    FROM deliveries d JOIN notifications n ON n.position = d.notification_position
    WHERE n.state = 'PENDING')
  SELECT u.account_code, CASE ${EXAM_IN.map((examIn) => `WHEN ${startsIn(examIn, 'b.booking_on', '$1')} THEN '${examIn}'`).join(' ')} END AS exam_in,
    count(*)::int AS count, min(u.created_datetime) AS oldest
  FROM undelivered u LEFT JOIN bookings b USING (booking_code) GROUP BY 1, 2`;

/** Counts undelivered notifications by the time that is left until the candidate's exam. */
@Injectable()
@QueryHandler(CountUndelivered)
export class UndeliveredFigures implements IQueryHandler<CountUndelivered> {
  private readonly undelivered: Gauge;
  private readonly oldest: Gauge;
  private counts: readonly UndeliveredCount[] = [];
  private underWay: Promise<readonly UndeliveredCount[]> | null = null;
  private notBefore = 0;

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    { registry }: Metrics,
    config: ProcessConfig,
  ) {
    const registers = config.roles.has('delivery') ? [registry] : [];
    this.undelivered = new Gauge({
      name: 'notifications_undelivered',
      help: 'Notifications of all processes that their partner has not received, by the time left until the exam; each in one bucket',
      labelNames: ['exam_in'],
      registers,
    });
    this.oldest = new Gauge({
      name: 'notification_oldest_undelivered_seconds',
      help: 'Age of the oldest notification that its partner has not received, including the error queue',
      registers,
    });
  }

  /** Returns the last counts, or counts again if they are too old. */
  async execute(): Promise<readonly UndeliveredCount[]> {
    if (performance.now() < this.notBefore) return this.counts;
    return (this.underWay ??= this.ask().finally(() => (this.underWay = null)));
  }

  /** Counts the undelivered notifications, and updates the metrics about them. */
  async count(): Promise<void> {
    const counts = await this.execute();
    for (const exam_in of EXAM_IN) {
      const ofBucket = counts.filter((row) => row.exam_in === exam_in);
      this.undelivered.set(
        { exam_in },
        ofBucket.reduce((sum, row) => sum + row.count, 0),
      );
    }
    const now = this.clock.now().getTime();
    this.oldest.set(Math.max(0, ...counts.map((row) => (now - row.oldest.getTime()) / 1000)));
  }

  private async ask(): Promise<readonly UndeliveredCount[]> {
    const begun = performance.now();
    this.counts = await this.database.query<UndeliveredCount>({ text: COUNT, across: acrossAccounts.figures }, [
      this.clock.now(),
    ]);
    const now = performance.now();
    this.notBefore = now + (now - begun) / SHARE;
    return this.counts;
  }
}
