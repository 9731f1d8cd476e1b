/** The partner: an HTTPS server that takes every PUT, answers 200 and says how many came and when. */
import { createServer } from 'node:https';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Authority } from '../test/support/certificates.js';
import { endWithOrchestrator, tell } from './program.js';

export interface ReceiverReady {
  url: string;
  caPem: string;
}

/** Answers when so many more requests have come; `bookings` asks for the time of each booking's request as well. */
export interface Expectation {
  expect: number;
  bookings?: boolean;
}

export interface Received {
  /** Milliseconds since 1970, with fractions. */
  firstAt: number;
  lastAt: number;
  /** Booking code and when its request had come. */
  bookings: [string, number][];
}

/** `performance.now()` of the moment in which the clock of the machine, which PostgreSQL reads, begins a millisecond. */
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
  // Kept open between the rounds of all programs.
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
