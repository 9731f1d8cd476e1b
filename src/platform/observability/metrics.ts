import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Injectable } from '@nestjs/common';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { Config } from '../../config.js';

/** Prometheus metrics on a listener of their own, which is never the public one. Modules register theirs on `registry`. */
@Injectable()
export class Metrics {
  readonly registry = new Registry();
  private server: Server | null = null;

  constructor(private readonly config: Config) {
    collectDefaultMetrics({ register: this.registry });
  }

  /** Starts the listener; returns its address. */
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
