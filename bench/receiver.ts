/**
 * Simulates the benchmark's partner: an HTTPS server that answers every PUT with 200, and reports the number and the
 * times of requests.
 */
import { createServer } from 'node:https';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Authority } from '../test/support/certificates.js';
import { endWithOrchestrator, tell } from './program.js';

export interface ReceiverReady {
  url: string;
  caPem: string;
}

/**
 * Asks the receiver to report when the given number of further requests have arrived. With `bookings`, the report
 * includes the time of each booking's request.
 */
export interface Expectation {
  expect: number;
  bookings?: boolean;
}

export interface Received {
  /** The time of the first request, in milliseconds since 1970, with fractions. */
  firstAt: number;
  lastAt: number;
  /** Maps booking codes to the arrival times of their requests. */
  bookings: [string, number][];
}

/**
 * Returns the difference between the machine's clock, which PostgreSQL reads, and `performance.now()`. The clock has a
 * resolution of one millisecond, so the difference is measured when the clock begins a new millisecond.
 */
function clockOffset(): number {
  const before = Date.now();
  let now = before;
  while (now === before) now = Date.now();
  return now - performance.now();
}

async function main(): Promise<void> {
  const authority = await Authority.create();
  const identity = await authority.issue('localhost');
  let expected: Expectation | null = null;
  let received: Received = { firstAt: 0, lastAt: 0, bookings: [] };
  let count = 0;
  let offset = clockOffset();

  const came = (chunks: Buffer[]) => {
    if (expected === null) return;
    received.lastAt = performance.now() + offset;
    if (count++ === 0) received.firstAt = received.lastAt;
    if (expected.bookings) {
      const { booking_code } = JSON.parse(Buffer.concat(chunks).toString()) as { booking_code: string };
      received.bookings.push([booking_code, received.lastAt]);
    }
    if (count < expected.expect) return;
    expected = null;
    tell(received);
  };
  const take = (request: IncomingMessage, answer: () => void) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      answer();
      came(chunks);
    });
  };
  const server = createServer({ cert: identity.certPem, key: identity.keyPem }, (request, response) =>
    take(request, () => response.writeHead(200, { 'content-length': 0 }).end()),
  );
  // Idle connections stay open between rounds, so that no compared program has to open them again.
  server.keepAliveTimeout = 0;
  process.on('message', (message: Expectation) => {
    received = { firstAt: 0, lastAt: 0, bookings: [] };
    count = 0;
    offset = clockOffset();
    expected = message;
    tell({ expecting: message.expect });
  });
  server.listen(0, '127.0.0.1', () => {
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    tell({ ready: { url, caPem: authority.certPem } });
  });
}

endWithOrchestrator();
main().catch((error: unknown) => tell({ error: String(error) }));
