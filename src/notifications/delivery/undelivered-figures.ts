import { Injectable } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { Config } from '../../config.js';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { Metrics } from '../../platform/observability/metrics.js';

/** Of a long error queue the count takes its time: it has at most this part of it. */
const SHARE = 1 / 20;
const EXAM_IN = ['past', '2h', '24h', '7d', 'later'] as const;

/** $1 now. Every notification that no partner has: in the error queue, or not tried yet. A replay was delivered before. */
const COUNT = `
  WITH undelivered AS (
    SELECT booking_code, created_datetime FROM notifications WHERE queued_datetime IS NOT NULL
    UNION ALL
    SELECT n.booking_code, n.created_datetime FROM deliveries d JOIN notifications n ON n.position = d.notification_position
    WHERE n.state = 'PENDING')
  SELECT CASE WHEN b.booking_on < $1::timestamptz THEN 'past'
      WHEN b.booking_on < $1::timestamptz + interval '2 hours' THEN '2h'
      WHEN b.booking_on < $1::timestamptz + interval '24 hours' THEN '24h'
      WHEN b.booking_on < $1::timestamptz + interval '7 days' THEN '7d'
      ELSE 'later' END AS exam_in,
    count(*) AS count, extract(epoch FROM $1::timestamptz - min(u.created_datetime))::float8 AS oldest_s
  FROM undelivered u LEFT JOIN bookings b USING (booking_code) GROUP BY 1`;

/** What partners have not been told, by the time that is left until the exam. */
@Injectable()
export class UndeliveredFigures {
  private readonly undelivered: Gauge;
  private readonly oldest: Gauge;
  private notBefore = 0;

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    { registry }: Metrics,
    config: Config,
  ) {
    const registers = config.roles.has('delivery') ? [registry] : [];
    this.undelivered = new Gauge({
      name: 'notifications_undelivered',
      help: 'Notifications that their partner does not have, of all processes, by the time left until the exam; each in one bucket',
      labelNames: ['exam_in'],
      registers,
    });
    this.oldest = new Gauge({
      name: 'notification_oldest_undelivered_seconds',
      help: 'Age of the oldest notification that its partner does not have, the error queue included',
      registers,
    });
  }

  async count(): Promise<void> {
    const begun = performance.now();
    if (begun < this.notBefore) return;
    const rows = await this.database.query<{ exam_in: string; count: number; oldest_s: number }>({ text: COUNT }, [
      this.clock.now(),
    ]);
    for (const exam_in of EXAM_IN)
      this.undelivered.set({ exam_in }, rows.find((row) => row.exam_in === exam_in)?.count ?? 0);
    this.oldest.set(Math.max(0, ...rows.map((row) => row.oldest_s)));
    const now = performance.now();
    this.notBefore = now + (now - begun) / SHARE;
  }
}
