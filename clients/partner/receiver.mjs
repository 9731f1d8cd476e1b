import { createHmac, timingSafeEqual } from 'node:crypto';

const MOST_SECONDS_OFF = 300;
const MOST_BYTES = 256 * 1024;

/**
 * Whether the service has sent this, now (Standard Webhooks v1).
 * @param {Record<string, string | string[] | undefined>} headers names in lower case
 * @param {Buffer} body the bytes as they came
 * @param {string | string[]} secrets as they were shown: whsec_…; two of them while one takes the other's place
 * @param {number} now seconds since 1970
 */
export function isGenuine(headers, body, secrets, now = Date.now() / 1000) {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headers;
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signatures !== 'string') return false;
  if (!Buffer.isBuffer(body) || !(Math.abs(now - Number(timestamp)) < MOST_SECONDS_OFF)) return false;
  const given = signatures.split(' ').flatMap((signature) => {
    const [version, text = ''] = signature.split(',');
    return version === 'v1' ? [Buffer.from(text, 'base64')] : [];
  });
  return [secrets].flat().some((secret) => {
    const expected = signatureOf(id, timestamp, body, secret);
    return given.some((bytes) => bytes.length === expected.length && timingSafeEqual(bytes, expected));
  });
}

function signatureOf(id, timestamp, body, secret) {
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  return createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest();
}

/** The header `webhook-signature` for a body: for tests. */
export function sign(id, timestamp, body, ...secrets) {
  return secrets
    .map((secret) => `v1,${signatureOf(id, String(timestamp), Buffer.from(body), secret).toString('base64')}`)
    .join(' ');
}

/** For a test or a single process; what must last belongs into a database, in the transaction of your change. */
export class MemoryStore {
  ids = new Set();
  newest = new Map();

  async has(id) {
    return this.ids.has(id);
  }

  async newestOf(bookingCode) {
    return this.newest.get(bookingCode) ?? null;
  }

  async add(id, { booking_code, effective_date }) {
    this.ids.add(id);
    const newest = this.newest.get(booking_code);
    if (newest === undefined || newest < effective_date) this.newest.set(booking_code, effective_date);
  }
}

/**
 * Says what to answer, and calls `handle` for what is new.
 *
 * 1. A wrong signature: 401. No JSON: 400.
 * 2. A `webhook-id` that is known: 200, and nothing more. Repeats that come while the first is worked on wait for it.
 * 3. Else `handle(notification, { id, isLate })`; `isLate`: something newer of the same booking is known already, so it may tell you
 *    of what was, and must change nothing that is.
 * 4. Then the id is kept, and 200. When `handle` or the store throws: 500, and the service comes again.
 *
 * @returns {(headers: object, body: Buffer) => Promise<{ status: number, body: string }>}
 */
export function receiver({ secrets, store, handle }) {
  const underWay = new Map();
  const work = async (id, notification) => {
    if (await store.has(id)) return;
    const newest = await store.newestOf(notification.booking_code);
    await handle(notification, { id, isLate: newest !== null && newest > notification.effective_date });
    await store.add(id, notification);
  };
  return async (headers, body) => {
    if (!isGenuine(headers, body, secrets)) return { status: 401, body: 'The signature is wrong.' };
    let notification;
    try {
      notification = JSON.parse(body.toString('utf8'));
    } catch {
      return { status: 400, body: 'The body is no JSON.' };
    }
    const id = headers['webhook-id'];
    if (!underWay.has(id))
      underWay.set(
        id,
        work(id, notification).finally(() => underWay.delete(id)),
      );
    try {
      await underWay.get(id);
      return { status: 200, body: '' };
    } catch {
      return { status: 500, body: 'It could not be worked on.' };
    }
  };
}

/** A handler of node:http and node:https for `PUT …/notifications`; also for Express and Connect, before any body parser. */
export function nodeHandler(receive) {
  return async (request, response) => {
    const chunks = [];
    let bytes = 0;
    for await (const chunk of request) {
      bytes += chunk.length;
      if (bytes <= MOST_BYTES) chunks.push(chunk);
    }
    const { status, body } =
      bytes > MOST_BYTES ? { status: 413, body: 'Too large.' } : await receive(request.headers, Buffer.concat(chunks));
    response.statusCode = status;
    response.setHeader('content-type', 'text/plain; charset=utf-8');
    response.end(body);
  };
}

/** Registers `PUT {path}` with Fastify, with bytes in place of parsed bodies there and nowhere else. */
export function fastifyPlugin(receive, path = '/notifications') {
  return async (fastify) => {
    fastify.removeAllContentTypeParsers();
    fastify.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: MOST_BYTES }, (_request, body, done) =>
      done(null, body),
    );
    fastify.put(path, async (request, reply) => {
      const { status, body } = await receive(request.headers, request.body);
      return reply.code(status).type('text/plain; charset=utf-8').send(body);
    });
  };
}
