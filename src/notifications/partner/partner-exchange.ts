import type { IncomingHttpHeaders } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { Client, type Dispatcher } from 'undici';
import { timeLimit } from '../../platform/time-limit.js';
import { MAX_HEAD_BYTES } from './answer-head.js';
import { AnswerReader } from './answer-reader.js';
import {
  AttemptNotBegun,
  isNetworkFault,
  isTlsFault,
  type PartnerConnector,
  PartnerFault,
  reasonOf,
  syntaxReason,
} from './partner-connection.js';

const MAX_BODY_BYTES = 64 * 1024;
/**
 * How long a connection is kept without a request, unless the partner says less (`Keep-Alive: timeout`): with many partners the
 * turn of each comes seconds apart, and a handshake costs more than the request. Balancers and NATs keep one for a minute or more.
 */
const KEPT_MS = 60_000;

export interface Answer {
  status: number;
  /** At most the first 64 KiB. */
  body: Buffer;
  /** `cut`: longer than 64 KiB, and the connection dropped; `late`: not at its end in time; `broken`: it broke off. */
  ending: 'complete' | 'cut' | 'late' | 'broken';
  /** How a body that broke off does not follow HTTP; null when it does. */
  syntax: string | null;
  /** Its content coding; null when it has none. A partner's is never undone: a few bytes can hold gigabytes. */
  coding: string | null;
  /** Where a redirect leads, as it stands. */
  location: string | null;
  /** `Retry-After`, as it stands. */
  retryAfter: string | null;
}

export type PartnerRequest = Dispatcher.DispatchOptions & {
  body: string | Buffer;
  /** Asked when the connection is there, before the first byte is written. */
  mayBegin?: (() => boolean) | undefined;
  /** Told why a request was written in vain: it is about to be written once more. */
  onRenewed?: ((fault: PartnerFault) => void) | undefined;
};

/** No connection begins a request later than this after its certificate was verified: names move, certificates change. */
const OLDEST_MS = 60_000;
/** A balancer or a NAT may have forgotten a connection without a request for so long, and tells nobody. */
const QUIET_MS = 10_000;
/** A kept connection that is closed so soon after a request was written was being closed by the partner before. */
const CLOSED_BEFORE_MS = 100;

/** Where a connection goes when its exchange is over. */
export interface ConnectionKeeper {
  /** Takes a connection back after a whole answer. */
  release(connection: PartnerConnection): void;
  /** Ends a connection that is of no more use. */
  discard(connection: PartnerConnection): void;
  /** Ends all connections that wait for a request. */
  doubt(): void;
  /** Gives an exchange, whose kept connection proved dead, one that is new for certain. */
  renew(exchange: Exchange, dead: PartnerConnection): void;
}

/** One connection, opened when it is first needed and again whenever the partner has closed it in between. */
export class PartnerConnection {
  /** Whole answers over the socket now open: with none, a fault cannot be that of a stale connection. */
  answers = 0;
  private answeredAt = Infinity;
  /** The first error of the socket. undici may report the end of the connection that follows on it in its place. */
  fault: Error | null = null;
  private reader: AnswerReader | null = null;
  private readonly client: Client;
  private opening = new AbortController();
  /** When the certificate of the socket now open was verified. */
  private verifiedAt = Infinity;

  constructor(origin: string, connector: PartnerConnector, limitMs: number) {
    this.client = new Client(origin, {
      pipelining: 1,
      // Time is kept by the exchange, over all of it.
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

  /** Its last answer is long ago. */
  get isQuiet(): boolean {
    return performance.now() - this.answeredAt > QUIET_MS;
  }

  /** A byte of the present answer has come. */
  get begun(): boolean {
    return this.reader?.begun ?? false;
  }

  /** The beginning of the present answer; null where nothing has come. */
  get said(): Buffer | null {
    return this.begun ? this.reader!.said : null;
  }

  /** The next bytes belong to a new answer. */
  expectAnswer(): void {
    this.reader?.expectAnswer();
  }

  /** A whole answer has come. */
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

/** One request and its answer, or the fault in its place. It settles once; whatever comes later finds it settled. */
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
    // An answer that ends with the connection has not ended well when that broke.
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
    // The excerpt shows the bytes that are no chunk.
    const { data } = error as { data?: unknown };
    if (this.syntax !== null && this.length === 0 && typeof data === 'string') this.chunks.push(Buffer.from(data));
    this.answer('broken');
  }

  /** A partner may close a kept connection at the moment when it is used again; nothing of an answer has come then. */
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
      // The cause that took one kept connection away without a word has taken the others, too.
      if (this.connection && this.connection.answers > 0 && !this.connection.begun) this.keeper.doubt();
      this.fail(new PartnerFault('timeout', this.connection ? 'no_answer' : 'no_free_connection'));
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

/** The connection has ended within the head. */
function headReason(error: Error): string {
  const reason = reasonOf(error);
  return reason === 'UND_ERR_SOCKET' ? 'head_broken' : reason;
}

function contentCoding({ 'content-encoding': coding }: IncomingHttpHeaders): string | null {
  // undici makes a list of a header that is repeated.
  const name = coding === undefined ? 'identity' : String(coding).trim().toLowerCase();
  return name === 'identity' ? null : name;
}
