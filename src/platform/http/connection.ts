import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { networkOfPeer, type ClientNetwork } from '../overload/address.js';

/** Connections of the public listener, and of one address where addresses tell callers apart. */
const MOST_CONNECTIONS = 4096;
const MOST_CONNECTIONS_PER_ADDRESS = 1024;
const MOST_HEADERS_MS = 20_000;
/** Beyond what the slowest body may take (body-arrival.ts): for bodies that nobody reads. */
const MOST_REQUEST_MS = 600_000;
/** A connection on which nothing moves for so long is given up: its peer does not read the answer, or has gone. */
const MOST_STILL_MS = 30_000;
/** An unused connection is kept for longer than proxies keep theirs (60 s): none sends a request into its end. */
const MOST_UNUSED_MS = 75_000;
/** How long a connection is read on behind an answer that came before the end of its request. */
const LINGER_MS = 2_000;

/**
 * Bounds what connections can take of the process: their number, the time of headers, bodies and answers.
 *
 * @param perAddress off behind a proxy, whose connections all come from one address
 */
export function boundConnections(server: Server, perAddress: boolean): void {
  server.maxConnections = MOST_CONNECTIONS;
  server.headersTimeout = MOST_HEADERS_MS;
  server.requestTimeout = MOST_REQUEST_MS;
  server.setTimeout(MOST_STILL_MS);
  server.keepAliveTimeout = MOST_UNUSED_MS;
  if (perAddress) boundAddresses(server);
  // Node would invite the body before anybody has looked at the request.
  server.on('checkContinue', (request: ExpectingRequest, response: ServerResponse) => {
    request.expectsContinue = true;
    server.emit('request', request, response);
  });
  // An expectation that nobody knows need not be met (RFC 9110 §10.1.1).
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
}

interface ExpectingRequest extends IncomingMessage {
  expectsContinue?: boolean;
}

/** Tells a caller that waits for it (RFC 9110 §10.1.1) to send its body. */
export function sendContinue(request: IncomingMessage, response: ServerResponse): void {
  if ((request as ExpectingRequest).expectsContinue) response.writeContinue();
}

function boundAddresses(server: Server): void {
  const counts = new Map<ClientNetwork, number>();
  server.on('connection', (socket) => {
    const address = networkOfPeer(socket.remoteAddress);
    const count = (counts.get(address) ?? 0) + 1;
    if (count > MOST_CONNECTIONS_PER_ADDRESS) {
      socket.destroy();
      return;
    }
    counts.set(address, count);
    socket.once('close', () => {
      const left = counts.get(address)! - 1;
      if (left === 0) counts.delete(address);
      else counts.set(address, left);
    });
  });
}

/**
 * Closes the connection behind the answer when the body of the request has not come to its end: it will not be read.
 *
 * Closed at once, the peer's system could drop the answer for the bytes that were under way (RFC 9112 §9.6): what comes
 * is thrown away for a moment. Node ends the socket by `destroySoon`.
 */
export function closeAfterAnswer(request: IncomingMessage, response: ServerResponse): void {
  if (request.complete || response.headersSent) return;
  response.setHeader('Connection', 'close');
  const { socket } = request;
  socket.destroySoon = () => {
    request.resume();
    linger(socket);
  };
}

/** Ends the connection behind what was written to it last. */
export function linger(socket: Socket): void {
  socket.end();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
}
