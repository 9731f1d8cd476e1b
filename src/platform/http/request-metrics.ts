import { Injectable } from '@nestjs/common';
import { Gauge, Histogram } from 'prom-client';
import { ProcessConfig } from '../process.config.js';
import { Metrics } from '../observability/metrics.js';

/**
 * The upper limits of the histogram's buckets, in seconds. They range from a simple read to a request that waits until
 * the database has recovered.
 */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/**
 * Measures the duration of every request to the API. The metrics contain the pattern of the route instead of the path.
 */
@Injectable()
export class RequestMetrics {
  private readonly duration: Histogram;
  /**
   * The histograms, one for each combination of labels. They are cached, because looking up a histogram by its labels
   * is expensive.
   */
  private readonly children = new Map<string, Histogram.Internal<string>>();
  private underWay = 0;

  constructor({ registry }: Metrics, config: ProcessConfig) {
    const registers = config.roles.has('api') ? [registry] : [];
    this.duration = new Histogram({
      name: 'http_request_duration_seconds',
      help: 'Time from the head of a request to the end of its answer, by route pattern, method and class of status',
      labelNames: ['method', 'route', 'status'],
      buckets: BUCKETS,
      registers,
    });
    const inFlight: Gauge = new Gauge({
      name: 'http_requests_in_flight',
      help: 'Running requests of this process',
      registers,
      collect: () => inFlight.set(this.underWay),
    });
  }

  began(): void {
    this.underWay += 1;
  }

  /**
   * Records the duration of a request whose response was sent.
   * @param route the pattern of the route; null if no route matches the path
   */
  ended(method: string, route: string | null, status: number, milliseconds: number): void {
    this.underWay -= 1;
    const group = Math.floor(status / 100);
    const key = `${method} ${group} ${route}`;
    let child = this.children.get(key);
    if (child === undefined) {
      // If no route matches, the method is not used as a label, because it could be any text, and each text would
      // create a new time series.
      const labels = { method: route === null ? 'any' : method, route: route ?? 'none', status: `${group}xx` };
      child = this.duration.labels(labels);
      if (route !== null) this.children.set(key, child);
    }
    child.observe(milliseconds / 1000);
  }
}
