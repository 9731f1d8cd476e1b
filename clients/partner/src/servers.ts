/**
 * The signature holds for the bytes that came, so each server is kept from parsing them: what parsed JSON would be
 * written as is something else.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { NotificationReceiver } from './notification-receiver.js';
import type { Headers } from './signature.js';

const MAX_BODY_BYTES = 256 * 1024;

class BodyTooLarge extends Error {}

/** For plain Node and for Express: `app.put('/notifications', notificationListener(receiver))`, before `express.json()`. */
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

/** A body that is read already is taken from where `express.raw()` puts it. */
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

/** The members of Fastify that are used, so that the package does not depend on it. */
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

/** For Fastify: `await app.register(notificationPlugin(receiver), { prefix: '/…' })` serves `PUT {prefix}/notifications`. */
export function notificationPlugin<Transaction>(receiver: NotificationReceiver<Transaction>) {
  return (scope: FastifyScope, _options: unknown, done: () => void): void => {
    // Holds for this plugin alone; the rest of the application goes on parsing.
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
