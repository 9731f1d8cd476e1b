import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { networkOfPeer, type ClientNetwork } from '../overload/address.js';

/** Maximum connections of the public listener, and of one address where addresses identify callers. */
const MOST_CONNECTIONS = 4096;
const MOST_CONNECTIONS_PER_ADDRESS = 1024;
const MOST_HEADERS_MS = 20_000;
/** Longer than the slowest permitted body takes (body-arrival.ts): for bodies that no handler reads. */
const MOST_REQUEST_MS = 600_000;
/** A connection without any traffic for this long is closed: its peer does not read the answer, or has disconnected. */
const MOST_STILL_MS = 30_000;
/**
 * An idle connection is kept longer than proxies keep theirs (60 s), so that no proxy sends a request on a closing
 * connection.
 */
const MOST_UNUSED_MS = 75_000;
/** Time for which a connection is read after an answer that was sent before the end of its request. */
const LINGER_MS = 2_000;

/**
 * Bounds the resources of connections: their number, and the time for headers, bodies and answers.
 *
 * @param perAddress false behind a proxy, whose connections all come from one address
 */
export function boundConnections(server: Server, perAddress: boolean): void {
  server.maxConnections = MOST_CONNECTIONS;
  server.headersTimeout = MOST_HEADERS_MS;
  server.requestTimeout = MOST_REQUEST_MS;
  server.setTimeout(MOST_STILL_MS);
  server.keepAliveTimeout = MOST_UNUSED_MS;
  if (perAddress) boundAddresses(server);
  // By default Node would request the body before the service has checked the request.
  server.on('checkContinue', (request: ExpectingRequest, response: ServerResponse) => {
    request.expectsContinue = true;
    server.emit('request', request, response);
  });
  // An unknown expectation may be ignored (RFC 9110 §10.1.1).
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
}

interface ExpectingRequest extends IncomingMessage {
  expectsContinue?: boolean;
}

/** Asks a caller that waits for `100 Continue` (RFC 9110 §10.1.1) to send its body. */
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
 * Closes the connection after the answer when the request's body is incomplete, because it will not be read.
 *
 * When a connection is closed at once, bytes that still arrive can make the peer's system drop the answer (RFC 9112
 * §9.6). Arriving bytes are therefore discarded for a moment. Node ends the socket by `destroySoon`.
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

/** Ends the connection after the last written bytes. */
export function linger(socket: Socket): void {
  socket.end();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
}
