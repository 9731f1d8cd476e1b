import { createServer, type Server } from 'node:https';
import { type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, type Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { type SecureVersion, type TLSSocket } from 'node:tls';

import { type Identity, testCertificates } from './certificates.js';

export interface PartnerRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  raw: Buffer;
  /** The body of the request as parsed JSON; null when it is not JSON. */
  json: ReturnType<typeof JSON.parse>;
  /** The time of the request's arrival, in milliseconds since 1970, with fractions. */
  at: number;
  /** The common name of the client certificate; null if the client presented no certificate. */
  tlsClientCert: string | null;
  /** Whether the connection of the request resumed an earlier TLS session. */
  tlsResumed: boolean;
  /** The number of the connection on which the request arrived, counted from the start of the partner. */
  connection: number;
}

export interface PartnerAnswer {
  status?: number;
  headers?: Record<string, string | string[]>;
  body?: string | Buffer;
  /** The delay, in milliseconds, before any part of the response is sent. */
  delayMs?: number;
  /** The interval in milliseconds between two bytes, if the body or `bytes` are sent byte by byte. */
  drip?: number;
  /** Resets the connection before the response, after part of its head, or after its head and the given body. */
  rst?: 'before' | 'head' | 'body';
  /** The part of the response that never arrives: the whole response, the end of its head, or the end of its body. */
  endless?: 'silence' | 'head' | 'body';
  /** The bytes to send instead of a response. Afterwards, the connection is closed unless `keep` is set. */
  bytes?: string | Buffer;
  keep?: boolean;
}

export interface PartnerOptions {
  /**
   * The certificate of the partner. The default is a valid certificate for localhost, 127.0.0.1 and ::1, issued by the
   * authority in `partner.caPem`.
   */
  tls?: Identity;
  /** The authority from which the partner requires a client certificate; if omitted, the partner requires none. */
  clientCaPem?: string;
  maxTlsVersion?: SecureVersion;
  minTlsVersion?: SecureVersion;
  /** Makes the partner serve `POST /token`, and accept only the bearer tokens that it has issued there. */
  oauth?: { clientId: string; clientSecret: string; expiresIn?: number };
  /** The address on which the partner listens; 127.0.0.1 by default. */
  host?: string;
  /** The port on which the partner listens; by default any free port. */
  port?: number;
}

type Answering = (request: PartnerRequest, index: number) => PartnerAnswer | Promise<PartnerAnswer>;

let certificates: ReturnType<typeof testCertificates> | undefined;

/** Returns the certificates that all partners of a test file share. */
export function sharedCertificates(): ReturnType<typeof testCertificates> {
  return (certificates ??= testCertificates());
}

/**
 * Starts the HTTPS server of a partner on loopback. It records requests, and sends the responses that the test has set.
 */
export async function startPartner(options: PartnerOptions = {}): Promise<Partner> {
  const { authority, good } = await sharedCertificates();
  const partner = new Partner(options.tls ?? good, authority.certPem, options);
  await partner.comeUp();
  return partner;
}

export class Partner {
  /** The received notifications, in the order of their arrival. */
  readonly requests: PartnerRequest[] = [];
  readonly tokenRequests: PartnerRequest[] = [];
  /** The number of accepted connections, with or without a completed TLS handshake. */
  connections = 0;
  private readonly server: Server;
  private readonly sockets = new Map<number, Socket>();
  private readonly numbers = new WeakMap<Socket, number>();
  private readonly tokens = new Set<string>();
  private answering: Answering = () => ({ status: 200 });
  private answeringToken: Answering | null = null;
  private port: number;
  private wake: (() => void)[] = [];

  constructor(
    tls: Identity,
    /** The `ca_pem` of a subscription that trusts this partner. */
    readonly caPem: string,
    private readonly options: PartnerOptions,
  ) {
    this.port = options.port ?? 0;
    this.server = createServer(
      {
        cert: tls.certPem,
        key: tls.keyPem,
        ca: options.clientCaPem,
        requestCert: options.clientCaPem !== undefined,
        rejectUnauthorized: options.clientCaPem !== undefined,
        maxVersion: options.maxTlsVersion,
        minVersion: options.minTlsVersion,
        // The partner allows weaker ciphers for TLS 1.1, because OpenSSL otherwise refuses this version.
        ciphers: options.maxTlsVersion === 'TLSv1.1' ? 'DEFAULT@SECLEVEL=0' : undefined,
        keepAliveTimeout: 60_000,
      },
      (request, response) => {
        this.handle(request, response).catch(() => request.socket.destroy());
      },
    );
    this.server.on('tlsClientError', () => undefined);
    this.server.on('connection', (socket: Socket) => {
      this.connections += 1;
      const { remotePort = 0 } = socket;
      this.sockets.set(remotePort, socket);
      socket.on('error', () => undefined);
      socket.on('close', () => this.sockets.delete(remotePort));
    });
    this.server.on('secureConnection', (socket: TLSSocket) => {
      this.numbers.set(socket, this.connections);
      socket.on('error', () => undefined);
    });
  }

  /** The partner's address, for the `partner_url` of a subscription. */
  get url(): string {
    return `https://localhost:${this.port}`;
  }

  /** The number of open connections to the partner. */
  get open(): number {
    return this.sockets.size;
  }

  get tokenUrl(): string {
    return `${this.url}/token`;
  }

  answer(answering: Answering | PartnerAnswer): void {
    this.answering = typeof answering === 'function' ? answering : () => answering;
  }

  answerToken(answering: Answering | PartnerAnswer): void {
    this.answeringToken = typeof answering === 'function' ? answering : () => answering;
  }

  /** Revokes the access tokens that the partner has issued so far. */
  revokeTokens(): void {
    this.tokens.clear();
  }

  /** Resolves with the first n notifications once they have arrived. */
  async received(n: number, timeoutMs = 20_000): Promise<PartnerRequest[]> {
    return this.wait(() => this.requests, n, `${n} notifications`, timeoutMs);
  }

  /** Resolves with the first n notifications of a booking. */
  async receivedFor(bookingCode: string, n: number, timeoutMs = 20_000): Promise<PartnerRequest[]> {
    const ofBooking = () => this.requests.filter(({ json }) => json?.booking_code === bookingCode);
    return this.wait(ofBooking, n, `${n} notifications of booking ${bookingCode}`, timeoutMs);
  }

  /** Makes the partner refuse new connections, and closes its open connections. */
  async goDown(): Promise<void> {
    if (!this.server.listening) return;
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.dropConnections();
    await closed;
  }

  /** Makes the partner listen again on the same port. */
  async comeUp(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen(this.port, this.options.host ?? '127.0.0.1', resolve);
    });
    this.port = (this.server.address() as AddressInfo).port;
  }

  /** Closes the partner's open connections. The partner still accepts new connections. */
  dropConnections(): void {
    for (const socket of this.sockets.values()) socket.destroy();
  }

  async stop(): Promise<void> {
    await this.goDown();
  }

  private async wait(
    list: () => PartnerRequest[],
    n: number,
    what: string,
    timeoutMs: number,
  ): Promise<PartnerRequest[]> {
    const giveUpAt = Date.now() + timeoutMs;
    while (list().length < n) {
      const left = giveUpAt - Date.now();
      if (left <= 0) throw new Error(`the partner got ${list().length} in place of ${what}`);
      let timer: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve) => {
        this.wake.push(resolve);
        timer = setTimeout(resolve, left);
      });
      clearTimeout(timer);
    }
    return list().slice(0, n);
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const recorded = await this.record(request);
    if (this.options.oauth && recorded.path === '/token') {
      this.tokenRequests.push(recorded);
      const answering = this.answeringToken ?? (() => this.token(recorded));
      await this.send(await answering(recorded, this.tokenRequests.length - 1), request, response);
      return;
    }
    this.requests.push(recorded);
    for (const resolve of this.wake.splice(0)) resolve();
    const known = !this.options.oauth || this.tokens.has(recorded.headers.authorization?.replace('Bearer ', ''));
    const answer = known ? await this.answering(recorded, this.requests.length - 1) : { status: 401 };
    await this.send(answer, request, response);
  }

  private async record(request: IncomingMessage): Promise<PartnerRequest> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const raw = Buffer.concat(chunks);
    const socket = request.socket as TLSSocket;
    return {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers as Record<string, string>,
      raw,
      json: parsed(raw),
      at: performance.timeOrigin + performance.now(),
      tlsClientCert: (socket.getPeerCertificate().subject?.CN as string | undefined) ?? null,
      tlsResumed: socket.isSessionReused(),
      connection: this.numbers.get(socket) ?? 0,
    };
  }

  private token(request: PartnerRequest): PartnerAnswer {
    const { clientId, clientSecret, expiresIn } = this.options.oauth!;
    const expected = Buffer.from(`${form(clientId)}:${form(clientSecret)}`).toString('base64');
    if (request.headers.authorization !== `Basic ${expected}`) {
      return { status: 401, body: JSON.stringify({ error: 'invalid_client' }) };
    }
    const token = `token-${this.tokenRequests.length}-${Math.random().toString(36).slice(2)}`;
    this.tokens.add(token);
    return { body: JSON.stringify({ access_token: token, token_type: 'Bearer', expires_in: expiresIn ?? 3600 }) };
  }

  private async send(answer: PartnerAnswer, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { status = 200, headers = {}, body = '' } = answer;
    const { socket } = request;
    if (answer.delayMs) await pause(answer.delayMs);
    if (answer.endless === 'silence') return;
    if (answer.rst === 'before') return this.reset(socket);
    if (answer.rst === 'head') {
      socket.write(`HTTP/1.1 ${status} Half\r\ncontent-type: text/pl`);
      await pause(50);
      return this.reset(socket);
    }
    if (answer.endless === 'head') return endlessly(socket, `HTTP/1.1 ${status} OK\r\n`, 'x-more: and more\r\n');
    if (answer.bytes !== undefined) {
      if (answer.drip === undefined) socket.write(answer.bytes);
      else await drip(answer.bytes, answer.drip, socket);
      if (answer.rst === 'body') {
        await pause(50);
        this.reset(socket);
      } else if (!answer.keep) {
        socket.end();
      }
      return;
    }
    if (answer.endless === 'body') {
      return endlessly(socket, `HTTP/1.1 ${status} OK\r\nconnection: close\r\n\r\n`, 'and more '.repeat(100));
    }
    const length = answer.rst === 'body' ? body.length + 100 : Buffer.byteLength(body);
    response.writeHead(status, status === 204 || status === 304 ? headers : { 'content-length': length, ...headers });
    if (answer.rst === 'body') {
      response.write(body);
      await pause(50);
      return this.reset(socket);
    }
    if (answer.drip === undefined) {
      response.end(body);
      return;
    }
    response.flushHeaders();
    await drip(body, answer.drip, response);
    response.end();
  }

  /**
   * Closes the connection with RST instead of FIN, through the socket below TLS, because a TLS socket cannot send RST.
   */
  private reset(socket: Socket): void {
    this.sockets.get(socket.remotePort ?? 0)?.resetAndDestroy();
  }
}

async function drip(bytes: string | Buffer, eachMs: number, to: Writable): Promise<void> {
  for (const byte of Buffer.from(bytes as string)) {
    await pause(eachMs);
    if (to.destroyed) return;
    to.write(Buffer.of(byte));
  }
}

function endlessly(socket: Socket, head: string, more: string): void {
  socket.write(head);
  const timer = setInterval(() => {
    while (!socket.destroyed && socket.writableLength < 65_536) socket.write(more);
  }, 5);
  socket.on('close', () => clearInterval(timer));
}

function parsed(raw: Buffer): unknown {
  try {
    return JSON.parse(raw.toString('utf8')) as unknown;
  } catch {
    return null;
  }
}

function form(text: string): string {
  return new URLSearchParams([['', text]]).toString().slice(1);
}
