import { randomUUID } from 'node:crypto';
import { STATUS_CODES, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Socket } from 'node:net';
import type { HttpConfig } from './http.config.js';
import { headersTooLarge, malformedRequest, payloadTooLarge, requestTimeout, type Problem } from '../errors.js';
import { linger } from './connection.js';
import { problemDocument, statusOf } from './problem.filter.js';

/**
 * The problems that are reported for error codes of Node. Every other error code is reported as a malformed request.
 */
const FOUND: Record<string, Problem | undefined> = {
  HPE_HEADER_OVERFLOW: headersTooLarge,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: payloadTooLarge,
  ERR_HTTP_REQUEST_TIMEOUT: requestTimeout,
};

/** A socket, with Node's internal reference to the response that is being written to the socket. */
type Answering = Socket & { _httpMessage?: ServerResponse };

/**
 * Sends a problem document with the usual headers in response to a request that Node cannot parse. Node itself would
 * send an empty body.
 *
 * @param headers the headers of every response
 */
export function answerUnreadable(server: Server, config: HttpConfig, headers: readonly [string, string][]): void {
  const answer = (socket: Socket, problem: Problem) => {
    // If the head of a response was already sent on the socket, an error response would become part of that response.
    // The socket is then closed instead.
    if (!socket.writable || (socket as Answering)._httpMessage?.headersSent) {
      socket.destroy();
      return;
    }
    const requestId = randomUUID();
    const body = problemDocument(config, problem.error(), requestId);
    const status = statusOf(problem.kind);
    const head = [
      ...headers,
      ['X-Request-Id', requestId],
      ['Content-Type', 'application/problem+json; charset=utf-8'],
      ['Content-Length', Buffer.byteLength(body)],
      ['Connection', 'close'],
    ].map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join('')}\r\n${body}`);
    linger(socket);
  };
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Duplex) =>
    answer(socket as Socket, FOUND[error.code ?? ''] ?? malformedRequest),
  );
  // CONNECT requests are refused, because the service is not a proxy.
  server.on('connect', (_request, socket: Duplex) => answer(socket as Socket, malformedRequest));
}
