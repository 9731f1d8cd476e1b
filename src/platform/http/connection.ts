import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { networkOfPeer, type ClientNetwork } from '../overload/address.js';

/**
 * The maximum number of connections to the public listener. If callers are identified by their addresses, a single
 * address may have at most {@link MOST_CONNECTIONS_PER_ADDRESS} connections.
 */
const MOST_CONNECTIONS = 4096;
const MOST_CONNECTIONS_PER_ADDRESS = 1024;
const MOST_HEADERS_MS = 20_000;
/**
 * The time limit for a whole request, in milliseconds. It also applies to a body that no handler reads. The limit is
 * longer than the time that the slowest permitted body takes (body-arrival.ts).
 */
const MOST_REQUEST_MS = 600_000;
/**
 * The time, in milliseconds, after which a connection without any traffic is closed. The client of such a connection
 * does not read the response, or has disconnected.
 */
const MOST_STILL_MS = 30_000;
/**
 * The time, in milliseconds, for which an idle connection is kept. This time is longer than the usual idle time of
 * proxies (60 s), so that no proxy sends a request on a connection that is being closed.
 */
const MOST_UNUSED_MS = 75_000;
/**
 * The time, in milliseconds, for which bytes are still read from a connection if the response was sent before the
 * request had arrived completely.
 */
const LINGER_MS = 2_000;

/**
 * Limits the number of connections, and the time that a client may take for headers, bodies and responses.
 *
 * @param perAddress whether the number of connections is also limited for each address; false behind a proxy, because
 * all connections from the proxy have the same address
 */
export function boundConnections(server: Server, perAddress: boolean): void {
  server.maxConnections = MOST_CONNECTIONS;
  server.headersTimeout = MOST_HEADERS_MS;
  server.requestTimeout = MOST_REQUEST_MS;
  server.setTimeout(MOST_STILL_MS);
  server.keepAliveTimeout = MOST_UNUSED_MS;
  if (perAddress) boundAddresses(server);
  // By default, Node would send `100 Continue` before the service has checked the request.
  server.on('checkContinue', (request: ExpectingRequest, response: ServerResponse) => {
    request.expectsContinue = true;
    server.emit('request', request, response);
  });
  // An unknown expectation may be ignored (RFC 9110 §10.1.1), so the request is processed.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
}

interface ExpectingRequest extends IncomingMessage {
  expectsContinue?: boolean;
}

/** Asks a client that waits for `100 Continue` to send its body (RFC 9110 §10.1.1). */
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
 * Closes the connection after the response if the body of the request is incomplete and will not be read.
 *
 * If a connection is closed immediately while bytes still arrive, the client's system may drop the response (RFC 9112
 * §9.6). For a short time, arriving bytes are therefore read and discarded. Node closes the socket by calling the
 * socket's `destroySoon`, so that method is replaced.
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

/**
 * Ends the connection after all written bytes have been sent. Bytes that arrive in the short time until the connection
 * closes are discarded.
 */
export function linger(socket: Socket): void {
  socket.end();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
}
