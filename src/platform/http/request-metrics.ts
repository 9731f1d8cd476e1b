import { Injectable } from '@nestjs/common';
import { Gauge, Histogram } from 'prom-client';
import { Config } from '../../config.js';
import { Metrics } from '../observability/metrics.js';

/** From a read that finds its plan to a request that waits for the database to come back, in seconds. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Metrics of every request, in a process that serves the API. The route's pattern stands for the path. */
@Injectable()
export class RequestMetrics {
  private readonly duration: Histogram;
  /** Looking a child up by its labels costs more than the rest: each is looked up once. */
  private readonly children = new Map<string, Histogram.Internal<string>>();
  private underWay = 0;

  constructor({ registry }: Metrics, config: Config) {
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
      help: 'Requests under way in this process',
      registers,
      collect: () => inFlight.set(this.underWay),
    });
  }

  began(): void {
    this.underWay += 1;
  }

  /** @param route the pattern; null where no route has the path */
  ended(method: string, route: string | null, status: number, milliseconds: number): void {
    this.underWay -= 1;
    const group = Math.floor(status / 100);
    const key = `${method} ${group} ${route}`;
    let child = this.children.get(key);
    if (child === undefined) {
      // A method that no route has could be anything: it would be a series of its own each time.
      const labels = { method: route === null ? 'any' : method, route: route ?? 'none', status: `${group}xx` };
      child = this.duration.labels(labels);
      if (route !== null) this.children.set(key, child);
    }
    child.observe(milliseconds / 1000);
  }
}
