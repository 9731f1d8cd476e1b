import { Injectable } from '@nestjs/common';
import { Counter, Gauge, Histogram } from 'prom-client';
import { ProcessConfig } from '../../platform/process.config.js';
import { Metrics } from '../../platform/observability/metrics.js';
import type { FailureClass } from '../partner/partner-connection.js';
import type { AttemptOutcome } from '../partner/attempt-outcome.js';

/**
 * The bucket limits of the response-time histogram, in seconds. The smallest limit suits a nearby partner, and the
 * largest suits a partner that uses its whole time limit.
 */
const BUCKETS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/**
 * The metrics of the delivery loop. Each distinct value of a label creates another time series. A label may therefore
 * contain the id of a subscription, but never the code of a booking, because there are too many bookings.
 */
@Injectable()
export class DeliveryMetrics {
  readonly waiting: Gauge;
  readonly errorQueue: Gauge;
  readonly oldestDueSeconds: Gauge;
  readonly overdue: Gauge;
  readonly untranslatedSeconds: Gauge;
  readonly setAside: Gauge;
  /** Returns the number of running attempts; called when the metrics are read. */
  attemptsInFlight: () => number = () => 0;
  private readonly attempts: Counter;
  private readonly attemptsOf = new Map<FailureClass | 'delivered', Counter.Internal>();
  private readonly duration: Histogram;
  private readonly durationOf = new Map<string, Histogram.Internal<string>>();

  constructor({ registry }: Metrics, config: ProcessConfig) {
    // A process that does not deliver exports no delivery metrics, because values of zero would be misleading.
    const registers = config.roles.has('delivery') ? [registry] : [];
    this.attempts = new Counter({
      name: 'notification_attempts_total',
      help: 'Delivery attempts that ended, by outcome',
      labelNames: ['outcome'],
      registers,
    });
    this.duration = new Histogram({
      name: 'notification_attempt_duration_seconds',
      help: 'Time of a delivery attempt from its connection to its outcome, by subscription and outcome',
      labelNames: ['partner', 'outcome'],
      buckets: BUCKETS,
      registers,
    });
    const inFlight: Gauge = new Gauge({
      name: 'notification_attempts_in_flight',
      help: 'Running delivery attempts of this process',
      registers,
      collect: () => inFlight.set(this.attemptsInFlight()),
    });
    this.waiting = new Gauge({
      name: 'notifications_to_send',
      help: 'Notifications of all processes that wait for an attempt; counted up to 100,000',
      registers,
    });
    this.errorQueue = new Gauge({
      name: 'notifications_in_error_queue',
      help: 'Notifications in the error queue, by who retries them',
      labelNames: ['retry'],
      registers,
    });
    this.oldestDueSeconds = new Gauge({
      name: 'notification_oldest_due_seconds',
      help: 'Age of the oldest notification that could be sent now',
      registers,
    });
    this.overdue = new Gauge({
      name: 'notifications_overdue_partners',
      help: 'Partners with due notifications that no process delivers; must be 0',
      registers,
    });
    this.untranslatedSeconds = new Gauge({
      name: 'domain_events_oldest_untranslated_seconds',
      help: 'Age of the oldest booking event for which no notifications were created yet',
      registers,
    });
    this.setAside = new Gauge({
      name: 'domain_events_set_aside',
      help: 'Booking events that cannot be translated and wait for an operator; must be 0',
      registers,
    });
  }

  attempted(partner: string, result: Pick<AttemptOutcome, 'failure' | 'durationMs'>): void {
    const outcome = result.failure ?? 'delivered';
    let counter = this.attemptsOf.get(outcome);
    if (counter === undefined) this.attemptsOf.set(outcome, (counter = this.attempts.labels({ outcome })));
    counter.inc();
    const key = `${outcome} ${partner}`;
    let duration = this.durationOf.get(key);
    if (duration === undefined) this.durationOf.set(key, (duration = this.duration.labels({ partner, outcome })));
    duration.observe(result.durationMs / 1000);
  }

  /** Removes the metrics of a deleted partner. */
  forget(partner: string): void {
    for (const key of this.durationOf.keys()) {
      const [outcome, of] = key.split(' ');
      if (of !== partner) continue;
      this.duration.remove({ partner, outcome });
      this.durationOf.delete(key);
    }
  }
}
