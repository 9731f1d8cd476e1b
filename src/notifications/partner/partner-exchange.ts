import type { IncomingHttpHeaders } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { Client, type Dispatcher } from 'undici';
import { timeLimit } from '../../platform/time-limit.js';
import { MAX_HEAD_BYTES } from './answer-head.js';
import { AnswerReader, type Answer } from './answer-reader.js';
import { isClosedByPartner, isNetworkFault, isTlsFault, reasonOf, syntaxReason } from './fault-reason.js';
import { AttemptNotBegun, type PartnerConnector, PartnerFault } from './partner-connection.js';

const MAX_BODY_BYTES = 64 * 1024;
/**
 * The idle time, in milliseconds, after which a keep-alive connection is closed, unless `Keep-Alive: timeout` is
 * shorter. With many partners, the requests to each are seconds apart, and a handshake costs more than a request. Load
 * balancers keep a connection for a minute.
 */
const KEPT_MS = 60_000;

export type PartnerRequest = Dispatcher.DispatchOptions & {
  body: string | Buffer;
  /**
   * Called when the connection is open, before the first byte is written. If it returns false, the request is
   * cancelled.
   */
  mayBegin?: (() => boolean) | undefined;
  /** Called before a request is written again over a new connection, with the failure of the previous connection. */
  onRenewed?: ((fault: PartnerFault) => void) | undefined;
};

/**
 * The maximum age, in milliseconds, of a connection's certificate check when a request begins. The age is limited,
 * because certificates, and the addresses of host names, change.
 */
const OLDEST_MS = 60_000;
/**
 * The time without a request, in milliseconds, after which a load balancer or NAT may have silently dropped a
 * connection.
 */
const QUIET_MS = 10_000;
/**
 * The time after a request was written, in milliseconds, within which the end of a keep-alive connection means that the
 * partner was already closing it.
 */
const CLOSED_BEFORE_MS = 100;

/** The pool of a partner's connections, which gets each connection back when its exchange has ended. */
export interface ConnectionKeeper {
  /** Puts a connection to the partner back into the pool after a complete response. */
  release(connection: PartnerConnection): void;
  /** Closes a partner connection that can no longer be used. */
  discard(connection: PartnerConnection): void;
  /** Closes all idle connections to the partner, because they may be dead like the connection that failed. */
  doubt(): void;
  /** Gives a new connection to an exchange whose keep-alive connection was dead. */
  renew(exchange: Exchange, dead: PartnerConnection): void;
}

/**
 * A connection to a partner. The connection is opened for its first request, and again after the partner has closed it.
 */
export class PartnerConnection {
  /**
   * The number of complete answers over the current socket. While the number is 0, the connection is new, so a failure
   * cannot mean that the connection was stale.
   */
  answers = 0;
  private answeredAt = Infinity;
  /** The first error of the socket. It is stored, because undici may later report only that the connection ended. */
  fault: Error | null = null;
  private reader: AnswerReader | null = null;
  private readonly client: Client;
  private opening = new AbortController();
  /** The time at which the certificate of the current socket was verified. */
  private verifiedAt = Infinity;

  constructor(origin: string, connector: PartnerConnector, limitMs: number) {
    this.client = new Client(origin, {
      pipelining: 1,
      // undici's own time limits are off, because the exchange has a single time limit for all its steps.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: KEPT_MS,
      keepAliveMaxTimeout: KEPT_MS,
      maxHeaderSize: MAX_HEAD_BYTES,
      connect: (_options, callback) => {
        this.opening = new AbortController();
        this.answers = 0;
        this.reader = null;
        this.fault = null;
        this.verifiedAt = Infinity;
        connector
          .open(limitMs, this.opening.signal)
          .then(
            ({ socket, verifiedAt }) => {
              this.verifiedAt = verifiedAt;
              this.watch(socket);
              callback(null, socket);
            },
            (error: Error) => callback(error, null),
          )
          .catch(() => this.close());
      },
    });
  }

  carry(exchange: Exchange): void {
    exchange.connection = this;
    this.client.dispatch(exchange.request, exchange);
  }

  get isOld(): boolean {
    return performance.now() - this.verifiedAt > OLDEST_MS;
  }

  /** Whether the last response over the connection arrived so long ago that the connection may have been dropped. */
  get isQuiet(): boolean {
    return performance.now() - this.answeredAt > QUIET_MS;
  }

  /** Whether any byte of the current response has arrived. */
  get begun(): boolean {
    return this.reader?.begun ?? false;
  }

  /** The beginning of the partner's current response; null before its first byte. */
  get said(): Buffer | null {
    return this.begun ? this.reader!.said : null;
  }

  /** Prepares the connection to the partner for the response to a new request. */
  expectAnswer(): void {
    this.reader?.expectAnswer();
  }

  /** Records that a complete response has arrived over the connection. */
  answered(): void {
    this.answers += 1;
    this.answeredAt = performance.now();
    this.reader?.forget();
  }

  close(): void {
    this.opening.abort();
    this.client.destroy(null, () => undefined);
  }

  private watch(socket: TLSSocket): void {
    socket.on('error', (error: Error) => {
      this.fault ??= error;
    });
    this.reader = new AnswerReader(socket);
  }
}

/**
 * A request and its response, or the fault that occurred instead. The exchange settles once; later events are ignored.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  settled = false;
  connection: PartnerConnection | null = null;
  private readonly timer: NodeJS.Timeout;
  private readonly chunks: Buffer[] = [];
  private status = 0;
  private syntax: string | null = null;
  private coding: string | null = null;
  private location: string | null = null;
  private retryAfter: string | null = null;
  private writtenAt = 0;
  private length = 0;
  private renewed = false;

  constructor(
    private readonly keeper: ConnectionKeeper,
    readonly request: PartnerRequest,
    deadline: number,
    private readonly resolve: (answer: Answer) => void,
    private readonly reject: (fault: Error) => void,
  ) {
    this.timer = timeLimit(Math.max(0, deadline - performance.now()), () => this.expire());
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (!this.settled && this.request.mayBegin?.() === false) this.fail(new AttemptNotBegun());
    if (this.settled) controller.abort(new PartnerFault('timeout', 'no_free_connection'));
    else {
      this.writtenAt = performance.now();
      this.connection?.expectAnswer();
    }
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    this.status = status;
    this.coding = contentCoding(headers);
    this.location = headers.location === undefined ? null : String(headers.location);
    this.retryAfter = headers['retry-after'] === undefined ? null : String(headers['retry-after']);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.settled) return;
    this.chunks.push(chunk);
    this.length += chunk.length;
    if (this.length > MAX_BODY_BYTES) this.answer('cut');
  }

  onResponseEnd(): void {
    // The body of a response without a length ends when the connection ends. If the connection has failed, the body is
    // incomplete.
    if (!this.settled) this.answer(this.connection?.fault ? 'broken' : 'complete');
  }

  onResponseError(_controller: Dispatcher.DispatchController, reported: Error): void {
    if (this.settled) return;
    const error = this.connection?.fault ?? reported;
    if (this.status !== 0) this.breakOff(error);
    else if (error instanceof PartnerFault) this.fail(error);
    else if (this.connection?.begun) this.fail(new PartnerFault('protocol', headReason(error), this.connection.said));
    else if (isTlsFault(error)) this.fail(new PartnerFault('tls', reasonOf(error)));
    else if (!isNetworkFault(error)) this.fail(new PartnerFault('protocol', reasonOf(error)));
    else if (this.mayRenew()) this.renew(new PartnerFault('connect', reasonOf(error)));
    else this.fail(new PartnerFault('connect', reasonOf(error)));
  }

  private breakOff(error: Error): void {
    this.syntax = syntaxReason(error);
    // The error contains the bytes that are not a valid chunk. They are kept for the excerpt that operators see.
    const { data } = error as { data?: unknown };
    if (this.syntax !== null && this.length === 0 && typeof data === 'string') this.chunks.push(Buffer.from(data));
    this.answer('broken');
  }

  /**
   * Returns whether the request may be repeated, because the partner was probably already closing the keep-alive
   * connection when the request was written.
   */
  private mayRenew(): boolean {
    const isKept = this.connection !== null && this.connection.answers > 0;
    return isKept && !this.renewed && performance.now() - this.writtenAt <= CLOSED_BEFORE_MS;
  }

  private renew(fault: PartnerFault): void {
    this.renewed = true;
    this.request.onRenewed?.(fault);
    if (this.connection) this.keeper.renew(this, this.connection);
  }

  private expire(): void {
    if (this.settled) return;
    if (this.status !== 0) this.answer('late');
    else {
      // If this keep-alive connection was silently dropped, the idle connections have probably been dropped as well.
      if (this.connection && this.connection.answers > 0 && !this.connection.begun) this.keeper.doubt();
      const reason = this.connection ? 'no_answer' : 'no_free_connection';
      this.fail(new PartnerFault('timeout', reason, this.connection?.said ?? null));
    }
  }

  private answer(ending: Answer['ending']): void {
    this.settle(ending === 'complete');
    const body = this.chunks.length === 1 ? this.chunks[0] : Buffer.concat(this.chunks);
    this.resolve({
      status: this.status,
      body: body.length > MAX_BODY_BYTES ? body.subarray(0, MAX_BODY_BYTES) : body,
      ending,
      syntax: this.syntax,
      coding: this.coding,
      location: this.location,
      retryAfter: this.retryAfter,
    });
  }

  private fail(fault: PartnerFault | AttemptNotBegun): void {
    this.settle(false);
    this.reject(fault);
  }

  private settle(reusable: boolean): void {
    this.settled = true;
    clearTimeout(this.timer);
    if (this.connection === null) return;
    if (reusable) {
      this.connection.answered();
      this.keeper.release(this.connection);
    } else {
      this.keeper.discard(this.connection);
    }
  }
}

/** Returns the failure reason for a connection that ended before the headers of the response were complete. */
function headReason(error: Error): string {
  return isClosedByPartner(error) ? 'head_broken' : reasonOf(error);
}

function contentCoding({ 'content-encoding': coding }: IncomingHttpHeaders): string | null {
  // undici returns a repeated `Content-Encoding` header as a list, which does not count as `identity` (no coding).
  const name = coding === undefined ? 'identity' : String(coding).trim().toLowerCase();
  return name === 'identity' ? null : name;
}
