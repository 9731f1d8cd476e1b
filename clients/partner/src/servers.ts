/**
 * Adapts the receiver to HTTP servers. The signature covers the received bytes, so the server must not parse the body
 * before the receiver handles it. JSON that is parsed and serialized again may have different bytes.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { NotificationReceiver } from './notification-receiver.js';
import type { Headers } from './signature.js';

const MAX_BODY_BYTES = 256 * 1024;

class BodyTooLarge extends Error {}

/**
 * Builds a request listener for Node.js and Express. In Express, call `app.put('/notifications',
 * notificationListener(receiver))` before you install `express.json()`.
 */
export function notificationListener<Transaction>(receiver: NotificationReceiver<Transaction>) {
  return (request: IncomingMessage, response: ServerResponse): void => {
    if (request.method !== 'PUT') {
      response.writeHead(405, { allow: 'PUT' }).end();
      return;
    }
    bodyOf(request)
      .then((body) => receiver.receive(request.headers, body))
      .then(({ status, body }) => response.writeHead(status, { 'content-type': 'application/json' }).end(body))
      .catch((error: unknown) => {
        if (!(error instanceof BodyTooLarge)) {
          request.destroy();
          return;
        }
        response.writeHead(413, { connection: 'close' }).end();
      });
  };
}

/** Returns the bytes of the request's body, even if `express.raw()` has already read them. */
async function bodyOf(request: IncomingMessage & { body?: unknown }): Promise<Uint8Array> {
  if (request.body instanceof Uint8Array) return request.body;
  if (request.readableEnded)
    throw new Error('Something has read the body before: put the listener before express.json().');
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > MAX_BODY_BYTES) throw new BodyTooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

interface FastifyReply {
  code(status: number): FastifyReply;
  type(value: string): FastifyReply;
  send(body: string): unknown;
}

/**
 * The members of Fastify that the plugin uses. They are declared here, so that the package does not depend on Fastify.
 */
interface FastifyScope {
  addContentTypeParser(
    type: string,
    options: { parseAs: 'buffer'; bodyLimit: number },
    parser: (request: unknown, body: Buffer, done: (error: Error | null, body?: unknown) => void) => void,
  ): unknown;
  removeAllContentTypeParsers(): unknown;
  put(
    path: string,
    handler: (request: { headers: Headers; body: unknown }, reply: FastifyReply) => Promise<unknown>,
  ): unknown;
}

/**
 * Builds a plugin for Fastify. For example, `await app.register(notificationPlugin(receiver), { prefix: '/…' })` serves
 * `PUT {prefix}/notifications`.
 */
export function notificationPlugin<Transaction>(receiver: NotificationReceiver<Transaction>) {
  return (scope: FastifyScope, _options: unknown, done: () => void): void => {
    // Body parsing is disabled only within this plugin. Other routes of the application still parse bodies.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: MAX_BODY_BYTES }, (_request, body, parsed) =>
      parsed(null, body),
    );
    scope.put('/notifications', async ({ headers, body }, reply) => {
      const answer = await receiver.receive(headers, body instanceof Uint8Array ? body : new Uint8Array());
      return reply.code(answer.status).type('application/json').send(answer.body);
    });
    done();
  };
}
