import { randomUUID } from 'node:crypto';
import { STATUS_CODES, type Server, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Socket } from 'node:net';
import type { HttpConfig } from './http.config.js';
import { headersTooLarge, malformedRequest, payloadTooLarge, requestTimeout, type Problem } from '../errors.js';
import { linger } from './connection.js';
import { problemDocument, statusOf } from './problem.filter.js';

/** Errors of Node that have their own problem. Every other error means a malformed request. */
const FOUND: Record<string, Problem | undefined> = {
  HPE_HEADER_OVERFLOW: headersTooLarge,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: payloadTooLarge,
  ERR_HTTP_REQUEST_TIMEOUT: requestTimeout,
};

/** A socket, with Node's internal reference to the answer that is being written on it. */
type Answering = Socket & { _httpMessage?: ServerResponse };

/**
 * Answers an unreadable request with a problem document and the usual headers; Node would send an empty body.
 *
 * @param headers the headers of every answer
 */
export function answerUnreadable(server: Server, config: HttpConfig, headers: readonly [string, string][]): void {
  const answer = (socket: Socket, problem: Problem) => {
    // If the head of another answer was already sent, these bytes would become part of that answer. The socket is then
    // closed.
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
  // CONNECT is refused, because the service is not a proxy.
  server.on('connect', (_request, socket: Duplex) => answer(socket as Socket, malformedRequest));
}
