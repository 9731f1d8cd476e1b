import { X509Certificate } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { ProcessConfig } from '../platform/process.config.js';
import { Logger } from '../platform/observability/logger.js';
import { certificateForLocalhost } from './certificate.js';
import { ReceivedRequests } from './received-requests.js';

const FILE = 'sandbox-partner.json';
const CERTIFICATE_MS = 10 * 365 * 86_400_000;
const RENEW_MS = 30 * 86_400_000;
/** The delay of the response to `/slow`, in milliseconds. It is longer than the maximum `wait_ms` of a partner. */
const SLOW_MS = 65_000;
const MOST_BYTES = 256 * 1024;
/** The booking code in a sample notification (notifications/notification-request.ts). */
const SAMPLE = '"SAMPLE0001"';

/** The data that the sandbox's partner keeps across restarts, so that subscriptions to it keep working. */
interface Kept {
  port: number;
  cert: string;
  key: string;
}

/**
 * The sandbox's own partner, which listens on loopback. The last segment of `partner_url` selects the response. A
 * status, such as `/400`, becomes the status of the response. With `/slow`, the response is 200 after a delay of 65
 * seconds. With `/close`, the connection is closed without a response. With `/samples`, the response is 200 for sample
 * notifications and 400 for all others, like that of a partner that recognizes no candidate. With any other segment,
 * the response is 200. Every request is stored ({@link ReceivedRequests}).
 */
@Injectable()
export class SandboxPartner implements OnModuleInit, OnApplicationShutdown {
  partner_url = '';
  ca_pem = '';
  private server: Server | null = null;
  private readonly waiting = new Set<NodeJS.Timeout>();

  constructor(
    private readonly config: ProcessConfig,
    private readonly received: ReceivedRequests,
    private readonly logger: Logger,
  ) {}

  async onModuleInit(): Promise<void> {
    const kept = this.kept() ?? { port: 0, ...(await certificateForLocalhost(new Date(Date.now() + CERTIFICATE_MS))) };
    const server = createServer(kept, (request, response) => {
      this.receive(request, response).catch(() => request.socket.destroy());
    });
    this.server = server;
    server.on('tlsClientError', () => undefined);
    const listened = await listen(server, kept.port);
    // Another process of this sandbox may already use the port. The partner in that process is equivalent, and the
    // requests that it receives can be read in this process, too.
    const port = listened ? (server.address() as AddressInfo).port : kept.port;
    if (port !== kept.port) this.keep({ ...kept, port });
    this.partner_url = `https://localhost:${port}`;
    this.ca_pem = kept.cert;
  }

  async onApplicationShutdown(): Promise<void> {
    for (const timer of this.waiting) clearTimeout(timer);
    const { server } = this;
    if (!server?.listening) return;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }

  private async receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '' } = request;
    const body = await bodyOf(request);
    await this.received
      .add({ method, path: url, headers: request.headers, body })
      .catch((error: unknown) => this.logger.warn({ err: error }, 'a request to the sandbox’s partner was not kept'));
    const behaviour = /^\/([1-9]\d\d|slow|close|samples)(\/|$)/.exec(url)?.[1];
    if (behaviour === 'close') return void request.socket.destroy();
    const status =
      behaviour === 'samples'
        ? body.includes(SAMPLE)
          ? 200
          : 400
        : behaviour === undefined || behaviour === 'slow'
          ? 200
          : Math.max(200, Number(behaviour));
    const answer = () =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(NO_BODY.has(status) ? '' : '{}');
    if (behaviour !== 'slow') return void answer();
    const timer = setTimeout(answer, SLOW_MS);
    this.waiting.add(timer);
    response.on('close', () => {
      clearTimeout(timer);
      this.waiting.delete(timer);
    });
  }

  private get file(): string {
    return join(this.config.dataDir, FILE);
  }

  private kept(): Kept | null {
    try {
      const kept = JSON.parse(readFileSync(this.file, 'utf8')) as Kept;
      return Date.parse(new X509Certificate(kept.cert).validTo) - Date.now() > RENEW_MS ? kept : null;
    } catch {
      return null;
    }
  }

  private keep(kept: Kept): void {
    mkdirSync(this.config.dataDir, { recursive: true });
    const draft = `${this.file}.${process.pid}`;
    writeFileSync(draft, JSON.stringify(kept) + '\n', { mode: 0o600 });
    renameSync(draft, this.file);
  }
}

const NO_BODY = new Set([204, 304]);

/** Starts to listen on the port. Returns false if another process already uses the port. */
function listen(server: Server, port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(false) : reject(error),
    );
    server.listen(port, '127.0.0.1', () => resolve(true));
  });
}

/** Reads the body of a request to the sandbox's partner. A body that is larger than any notification is truncated. */
async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    if (bytes < MOST_BYTES) chunks.push(chunk);
    bytes += chunk.length;
  }
  return Buffer.concat(chunks).subarray(0, MOST_BYTES).toString('utf8');
}
