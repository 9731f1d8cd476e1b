import { createServer, type IncomingMessage, type Server } from 'node:http';
import { dateTime, digestOf, stepsOf } from '../src/digest';
import type { KeptNotification } from '../src/index';

/** A notification that the stub has delivered. Its creation time may be later than the time of its event. */
interface Delivered extends KeptNotification {
  createdS: number;
}

/** Simulates the part of the service that `heal` uses, with invented notifications. */
export class StubService {
  readonly delivered: Delivered[] = [];
  readonly replayed: string[] = [];
  readonly requests: string[] = [];
  /** The number of tokens that the stub has issued. Each token is valid for `validFor` requests. */
  tokens = 0;
  validFor = Infinity;
  private used = 0;
  private server: Server;

  add(atS: number, createdS = atS): Delivered {
    const id = `00000000-0000-4000-8000-${String(this.delivered.length).padStart(12, '0')}`;
    const one = { id, atS, createdS, digest: digestOf(id, 1, Buffer.from(`{"effective_date":"${dateTime(atS)}"}`)) };
    this.delivered.push(one);
    return one;
  }

  /**
   * Starts the stub, and returns its base URL.
   */
  async start(): Promise<string> {
    this.server = createServer((request, response) => {
      void bodyOf(request).then((body) => {
        const { status = 200, headers = {}, value } = this.answer(request, body);
        response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
      });
    });
    await new Promise<void>((listening) => this.server.listen(0, '127.0.0.1', listening));
    return `http://127.0.0.1:${(this.server.address() as { port: number }).port}/v1/`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((closed) => this.server.close(closed));
  }

  private answer(request: IncomingMessage, body: string): { status?: number; headers?: object; value: unknown } {
    const { pathname, searchParams } = new URL(request.url!, 'http://stub');
    if (pathname === '/v1/token') {
      this.tokens += 1;
      this.used = 0;
      return { value: { access_token: `token-${this.tokens}` } };
    }
    if (this.used++ >= this.validFor || request.headers.authorization !== `Bearer token-${this.tokens}`)
      return { status: 401, value: { code: 'unauthorized' } };
    this.requests.push(request.url!);
    const [fromS, toS] = ['from', 'to'].map((name) => Date.parse(searchParams.get(name) ?? '') / 1000);
    switch (pathname) {
      case '/v1/partner/digest': {
        const stepS = Number(searchParams.get('step_s'));
        if ((toS - fromS) / stepS > 1000) return { status: 400, value: { code: 'validation_error' } };
        const within = this.delivered.filter(({ atS }) => atS >= fromS && atS < toS);
        return { value: stepsOf(within, fromS, toS, stepS) };
      }
      case '/v1/partner/notifications': {
        const [limit, start] = ['limit', 'cursor'].map((name) => Number(searchParams.get(name) ?? 0));
        const all = this.delivered.filter(({ createdS }) => createdS >= fromS && createdS < toS);
        searchParams.set('cursor', String(start + limit));
        const next = `</v1/partner/notifications?${searchParams.toString()}>; rel="next"`;
        const page = all.slice(start, start + limit).map(({ id, atS }) => ({ id, effective_date: dateTime(atS) }));
        return { headers: start + limit < all.length ? { link: next } : {}, value: page };
      }
      case '/v1/partner/notifications/replay':
        this.replayed.push(...(JSON.parse(body) as { ids: string[] }).ids);
        return { status: 202, value: { job_id: 'job', matched: 1 } };
      default:
        return { status: 404, value: { code: 'not_found' } };
    }
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}
