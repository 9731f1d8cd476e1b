import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Injectable } from '@nestjs/common';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import { ProcessConfig } from '../process.config.js';
import { ObservabilityConfig } from './observability.config.js';
import { version } from '../../../package.json';

const MISNAMED = ['nodejs_active_handles_total', 'nodejs_active_requests_total', 'nodejs_active_resources_total'];

/**
 * Serves metrics for Prometheus on a separate listener, never on the public listener. Modules register their metrics on
 * `registry`.
 */
@Injectable()
export class Metrics {
  readonly registry = new Registry();
  private server: Server | null = null;

  constructor(
    private readonly config: ObservabilityConfig,
    { roles }: ProcessConfig,
  ) {
    collectDefaultMetrics({ register: this.registry });
    // Some gauges of Node.js are removed, because promtool rejects gauges whose names end like the names of counters.
    // No information is lost, because other gauges contain the same counts, broken down by type.
    for (const name of MISNAMED) this.registry.removeSingleMetric(name);
    new Gauge({
      name: 'build_info',
      help: 'The running release; always 1',
      labelNames: ['version', 'node', 'roles'],
      registers: [this.registry],
    }).set({ version, node: process.version, roles: [...roles].sort().join(',') }, 1);
  }

  /** Starts the HTTP listener for `/metrics`; returns its address. */
  async listen(): Promise<string> {
    this.server = createServer((request, response) => {
      if (request.url?.split('?', 1)[0] !== '/metrics') {
        response.writeHead(404).end();
        return;
      }
      this.registry.metrics().then(
        (text) => response.writeHead(200, { 'Content-Type': this.registry.contentType }).end(text),
        () => response.writeHead(503).end(),
      );
    });
    const { server } = this;
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.config.metricsPort, this.config.metricsHost, resolve);
    });
    const { address, port, family } = server.address() as AddressInfo;
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}/metrics`;
  }

  close(): void {
    this.server?.close();
    this.server?.closeAllConnections();
  }
}
