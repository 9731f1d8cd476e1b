import { Agent, request as httpsRequest } from 'node:https';
import { Agent as HttpAgent, request as httpRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

const PIECES = 8;
const PIECE_PAUSE_MS = 60;
const READ_PAUSE_MS = 200;
const MAX_ANSWER_BYTES = 64 * 1024;

export interface EndpointOptions {
  /** The partner's address, to which `/notifications` is appended. */
  url: string;
  /** Certificates that replace the system's root certificates. */
  caPem?: string | undefined;
  /** Headers that the partner requires in addition to the signature, such as `authorization`. */
  headers: Record<string, string>;
  waitMs: number;
}

export interface EndpointAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
  durationMs: number;
}

/** Thrown when the partner did not respond, or responded too late. The message says which of the two happened. */
export class NoAnswer extends Error {}

/**
 * Sends PUT requests to the endpoint under test as the service does. Certificates are verified, and redirects are not
 * followed.
 */
export class PartnerEndpoint {
  private readonly address: URL;
  private readonly agent: HttpAgent;

  /**
   * Prepares requests to the endpoint under test.
   * @throws TypeError unless the address is an https URL without a query, a fragment or a password; for a first try, an
   * http address on this machine is allowed
   */
  constructor(private readonly options: EndpointOptions) {
    const url = new URL(options.url);
    const isPlain = url.protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);
    if ((url.protocol !== 'https:' && !isPlain) || url.search !== '' || url.hash !== '' || url.username !== '')
      throw new TypeError('The address must be https://…, without a query, a fragment or a password.');
    this.address = new URL(`${options.url.replace(/\/+$/, '')}/notifications`);
    this.agent = isPlain
      ? new HttpAgent({ keepAlive: true })
      : new Agent({ keepAlive: true, ca: options.caPem, minVersion: 'TLSv1.2' });
  }

  /**
   * Sends a PUT request to the endpoint under test, and returns the response.
   * @param slowly `sent` if the body is sent slowly in small chunks, `read` if the response is read slowly in small
   * chunks
   */
  put(headers: Record<string, string>, body: Buffer, slowly: 'sent' | 'read' | null = null): Promise<EndpointAnswer> {
    const start = performance.now();
    return new Promise((resolve, reject) => {
      const request = this.address.protocol === 'http:' ? httpRequest : httpsRequest;
      const sent = request(this.address, {
        method: 'PUT',
        agent: this.agent,
        headers: { ...this.options.headers, 'content-length': body.length, ...headers },
      });
      const timer = setTimeout(() => {
        sent.destroy(new NoAnswer(`no complete answer within ${this.options.waitMs / 1000} s`));
      }, this.options.waitMs);
      const fail = (error: Error) => {
        clearTimeout(timer);
        reject(error instanceof NoAnswer ? error : new NoAnswer(`no answer: ${reasonOf(error)}`));
      };
      sent.on('error', fail);
      sent.on('response', (response) => {
        const chunks: Buffer[] = [];
        let length = 0;
        const settle = () => {
          clearTimeout(timer);
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(chunks).toString('utf8'),
            durationMs: Math.round(performance.now() - start),
          });
        };
        response.on('data', (chunk: Buffer) => {
          if (slowly === 'read') stopFor(response, READ_PAUSE_MS);
          chunks.push(chunk);
          length += chunk.length;
          if (length <= MAX_ANSWER_BYTES) return;
          settle();
          response.destroy();
        });
        response.on('end', settle);
        response.on('error', fail);
      });
      if (slowly === 'sent') void sendInPieces(sent, body);
      else sent.end(body);
    });
  }

  close(): void {
    this.agent.destroy();
  }
}

async function sendInPieces(sent: ReturnType<typeof httpsRequest>, body: Buffer): Promise<void> {
  const size = Math.ceil(body.length / PIECES);
  for (let from = 0; from < body.length; from += size) {
    if (sent.destroyed) return;
    sent.write(body.subarray(from, from + size));
    await pause(PIECE_PAUSE_MS);
  }
  sent.end();
}

function stopFor(response: IncomingMessage, ms: number): void {
  response.pause();
  setTimeout(() => response.resume(), ms);
}

function reasonOf(error: NodeJS.ErrnoException): string {
  return error.code ?? error.message;
}
