import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Transform } from 'node:stream';
import type { Request, Response } from 'express';
import {
  malformedRequest,
  payloadTooLarge,
  requestTimeout,
  unsupportedMediaType,
  type DomainError,
} from '../errors.js';
import { closeAfterAnswer, sendContinue } from './connection.js';
import type { BodySpace } from '../overload/body-memory.js';

/**
 * The longest pause, in milliseconds, that is allowed while a request body arrives. The pause before the first bytes
 * counts, too.
 */
const MOST_PAUSE_MS = 20_000;
/**
 * The minimum rate, in bytes per second, at which a request body must arrive. A body may take {@link MOST_PAUSE_MS}
 * longer than it would take at this rate.
 */
const LEAST_BYTES_PER_S = 16 * 1024;
const CHECK_MS = 1000;

interface Arrival {
  /** The maximum size of a request body after decompression, in bytes. */
  readonly limit: number;
  /** Whether the route accepts bodies that are compressed with gzip, deflate or br. */
  readonly unpack?: boolean;
  /** Whether the body's bytes are returned as the client sent them, without decompression. */
  readonly asSent?: boolean;
  /**
   * Whether a body that cannot be decompressed is read to its end. If so, {@link BrokenCoding} is thrown with the
   * received bytes; otherwise the body is refused immediately.
   */
  readonly keepBroken?: boolean;
  /** Resolves when the caller need not wait any more. Until then, the body is not read. */
  readonly rest?: () => Promise<void>;
  /** The memory budget of the caller, to which the received bytes of the body are charged. */
  readonly space?: BodySpace;
}

/** Thrown for a request body that arrived completely and cannot be decompressed. */
export class BrokenCoding extends Error {
  constructor(readonly bytes: Buffer) {
    super('The body cannot be decompressed.');
  }
}

/** Returns whether the headers of the request announce a body. */
export function hasBody(request: Request): boolean {
  return request.headers['transfer-encoding'] !== undefined || statedLength(request) > 0;
}

/** Returns the length of the body according to the Content-Length header, in bytes; 0 without this header. */
export function statedLength(request: Request): number {
  return Number(request.headers['content-length'] ?? 0);
}

/**
 * Reads the bytes of a body.
 *
 * 1. If the stated length of a body exceeds the limit, the body is refused before any byte is read.
 * 2. A client that waits for `100 Continue` receives it only after the stated length has been checked.
 * 3. Each chunk is counted, and charged to the memory budget. Reading pauses while there is no memory for the chunk.
 * 4. A body that pauses too long or arrives too slowly is aborted; time spent waiting for memory does not count.
 * 5. A refused body is not read to its end: the connection is closed after the response.
 *
 * @throws DomainError payload_too_large, unsupported_media_type, request_timeout, malformed_request,
 * service_unavailable, and the errors of `rest`
 * @throws BrokenCoding
 */
export async function readBytes(request: Request, response: Response, arrival: Arrival): Promise<Buffer> {
  try {
    if (statedLength(request) > arrival.limit) throw payloadTooLarge.error();
    if (arrival.rest) await arrival.rest();
    const unpacking = unpackerOf(request, arrival);
    sendContinue(request, response);
    return await new Promise<Buffer>((resolve, reject) => new Arriving(request, unpacking, arrival, resolve, reject));
  } catch (error) {
    if (!(error instanceof BrokenCoding)) closeAfterAnswer(request, response);
    throw error;
  }
}

type Unpack = () => Transform;

const UNPACKERS: Readonly<Record<string, Unpack>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

function codingOf(request: Request): string {
  return (request.headers['content-encoding'] ?? 'identity').toLowerCase();
}

/**
 * Returns the error for a body whose content coding is not supported; null if the body is not compressed or can be
 * decompressed.
 */
export function codingRefusal(request: Request): DomainError | null {
  const coding = codingOf(request);
  if (coding === 'identity' || Object.hasOwn(UNPACKERS, coding)) return null;
  return unsupportedMediaType.error({ detail: 'The content coding must be gzip, deflate, br or none.' });
}

function unpackerOf(request: Request, { unpack = false, asSent = false }: Arrival): Transform | null {
  const coding = codingOf(request);
  if (coding === 'identity' || asSent) return null;
  if (unpack && Object.hasOwn(UNPACKERS, coding)) return UNPACKERS[coding]();
  throw unsupportedMediaType.error({ detail: 'The content coding must be gzip, deflate, br or none.' });
}

/** The state of a request body that is being received. */
class Arriving {
  private parts: Buffer[] = [];
  private bytes = 0;
  private done = false;
  private unpacking: Transform | null;
  /** The received bytes of a compressed body, before decompression; null if they need not be kept. */
  private readonly sent: Buffer[] | null;
  private isBroken = false;
  private readonly clock: ArrivalClock | null;

  constructor(
    private readonly request: Request,
    unpacking: Transform | null,
    private readonly arrival: Arrival,
    private readonly resolve: (bytes: Buffer) => void,
    private readonly reject: (error: unknown) => void,
  ) {
    this.unpacking = unpacking;
    this.sent = unpacking && arrival.keepBroken ? [] : null;
    // Most bodies have already arrived completely, and need no clock.
    this.clock = request.complete ? null : new ArrivalClock(request, () => this.fail(requestTimeout.error()));
    request.on('error', this.onBroken).on('close', this.onBroken);
    if (this.sent) request.on('data', this.onSent);
    if (unpacking) request.pipe(unpacking).on('error', this.onUnpackable);
    this.source.on('end', this.onEnd).on('data', this.onData);
    // The sender may have disconnected before the body was read. There is no further event then.
    if (request.destroyed) this.fail(malformedRequest.error());
  }

  private get source(): Request | Transform {
    return this.unpacking ?? this.request;
  }

  private readonly onData = (part: Buffer): void => {
    this.parts.push(part);
    this.count(part);
  };

  private readonly onSent = (part: Buffer): void => {
    this.sent!.push(part);
    if (this.unpacking) this.charge(part.length);
    else this.count(part);
  };

  private count({ length }: Buffer): void {
    this.bytes += length;
    if (this.bytes > this.arrival.limit) this.fail(payloadTooLarge.error());
    else this.charge(length);
  }

  private charge(bytes: number): void {
    const memory = this.arrival.space?.charge(bytes);
    if (!memory) return;
    this.source.pause();
    this.clock?.stop();
    memory.then(
      () => {
        if (this.done) return;
        this.clock?.goOn();
        this.source.resume();
      },
      (error: unknown) => this.fail(error),
    );
  }

  private readonly onEnd = (): void => {
    this.end();
    this.arrival.space?.finish();
    const { parts, sent, isBroken } = this;
    const bytes = joined(isBroken ? sent! : parts);
    if (isBroken) this.reject(new BrokenCoding(bytes));
    else this.resolve(bytes);
  };

  /** Called when the connection breaks while the body arrives, for example because the sender disconnected. */
  private readonly onBroken = (): void => {
    // The `close` event also occurs after the request has been read to its end. In that case the connection is not
    // broken, although the decompression of the last bytes may not have finished yet.
    if (this.unpacking && this.request.complete && !this.unpacking.destroyed) return;
    this.fail(malformedRequest.error());
  };

  /**
   * Called when the body cannot be decompressed. If its bytes are kept, the remaining bytes are read without
   * decompression.
   */
  private readonly onUnpackable = (): void => {
    if (this.sent === null) return this.fail(malformedRequest.error());
    this.release();
    this.isBroken = true;
    this.parts = [];
    this.bytes = this.sent.reduce((sum, { length }) => sum + length, 0);
    if (this.request.readableEnded) return this.onEnd();
    this.request.on('end', this.onEnd).resume();
  };

  private fail(error: unknown): void {
    if (this.done) return;
    this.end();
    this.reject(error);
  }

  private end(): void {
    this.done = true;
    this.clock?.end();
    this.request.off('error', this.onBroken).off('close', this.onBroken).off('data', this.onSent);
    this.source.off('end', this.onEnd).off('data', this.onData);
    this.release();
  }

  /** Stops the decompression. */
  private release(): void {
    const { unpacking, request } = this;
    if (unpacking === null) return;
    request.unpipe(unpacking);
    unpacking
      .off('end', this.onEnd)
      .off('data', this.onData)
      .on('error', () => undefined)
      .destroy();
    this.unpacking = null;
  }
}

function joined(parts: readonly Buffer[]): Buffer {
  return parts.length === 1 ? parts[0] : Buffer.concat(parts);
}

/** Measures whether the bytes of a body arrive fast enough. */
class ArrivalClock {
  private bytes = 0;
  /**
   * The time, in milliseconds, for which the clock has been running. The time for which the body waits for memory does
   * not count.
   */
  private elapsed = 0;
  private sinceLast = 0;
  private timer: NodeJS.Timeout | null = null;

  constructor(
    private readonly request: Request,
    private readonly late: () => void,
  ) {
    request.on('data', this.onData);
    this.goOn();
  }

  goOn(): void {
    this.timer ??= setInterval(() => this.check(), CHECK_MS);
  }

  stop(): void {
    if (this.timer) clearInterval(this.timer);
    this.timer = null;
  }

  end(): void {
    this.stop();
    this.request.off('data', this.onData);
  }

  private readonly onData = (part: Buffer): void => {
    this.bytes += part.length;
    this.sinceLast = 0;
  };

  private check(): void {
    this.elapsed += CHECK_MS;
    this.sinceLast += CHECK_MS;
    if (this.sinceLast >= MOST_PAUSE_MS || this.elapsed >= MOST_PAUSE_MS + (this.bytes / LEAST_BYTES_PER_S) * 1000)
      this.late();
  }
}
