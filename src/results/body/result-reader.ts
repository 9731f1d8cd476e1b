import { join } from 'node:path';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { DomainError, problemCatalogue, type Fault } from '../../platform/errors.js';
import { requestContext } from '../../platform/context/request-context.js';
import { LABORIOUS_BYTES } from '../../platform/http/body.js';
import { BodyPace } from '../../platform/overload/body-pace.js';
import { WorkerThread } from '../../platform/worker-thread.js';
import { readDelivered, type Delivered, type FactsOf } from './result-delivered.js';
import type { ResultSource } from './results.rules.js';

/**
 * The maximum heap of the thread that reads results, in MB. A body of 8 MiB with 100,000 values needs a third of this
 * heap.
 */
const MOST_HEAP_MB = 256;
/**
 * The maximum size of the thread's heap for new objects, in MB. With the default size, the objects of a large body are
 * copied several times, by helper threads that have a normal priority.
 */
const MOST_YOUNG_MB = 192;

interface Refusal {
  code: string;
  detail: string;
  errors: Fault[];
}
type Answer = { workMs: number } & (
  { kept: object; facts: object; faults: Fault[]; isRefused: boolean } | { refusal: Refusal; bytes: Uint8Array }
);

/** The bytes of a body that is not a JSON object, with the error with which the body is refused. */
export interface Unread {
  readonly refusal: DomainError;
  readonly bytes: Buffer | undefined;
}

/** The estimated time for passing a body to the thread, in milliseconds per byte. */
const ARRIVAL_MS_PER_BYTE = 2 / (1024 * 1024);
/** The processing time, in milliseconds, that is charged to the sender of a body that crashes the thread. */
const MOST_WORK_MS = 10_000;
/**
 * If a body is invalid, the processing time that is charged to its sender is multiplied by this factor. The higher
 * charge limits a sender to one refused body of 8 MiB in about three seconds.
 */
const CHARGE_OF_REFUSED = 20;

/** Parses, checks and hashes results. Large results are read in a thread, so that they do not block the event loop. */
@Injectable()
export class ResultReader implements OnApplicationShutdown {
  /**
   * Additional Node.js options for the thread. Tests set them to run the thread's program from the TypeScript sources.
   */
  static readonly execArgv: string[] = [];

  private readonly thread = new WorkerThread<{ source: ResultSource; bytes: Buffer }, Answer>(
    join(__dirname, 'result-reader-thread.cjs'),
    {
      execArgv: ResultReader.execArgv,
      resourceLimits: { maxOldGenerationSizeMb: MOST_HEAP_MB, maxYoungGenerationSizeMb: MOST_YOUNG_MB },
    },
  );
  /**
   * A promise that resolves when the previous read in the thread has ended. The thread reads only one body at a time.
   */
  private last: Promise<unknown> = Promise.resolve();

  constructor(private readonly pace: BodyPace) {}

  /**
   * Reads a result's body. For a body that is not a JSON object, the error is returned with the bytes rather than
   * thrown, so that the body can be stored.
   * @throws DomainError rate_limited
   */
  async read<Source extends ResultSource>(
    source: Source,
    bytes: Buffer | undefined,
  ): Promise<Delivered<FactsOf[Source]> | Unread> {
    if (bytes === undefined || bytes.length <= LABORIOUS_BYTES) return readHere(source, bytes);
    // The length is stored before the transfer, because a buffer that is transferred to the thread is empty afterwards.
    const { length } = bytes;
    let workMs = MOST_WORK_MS;
    try {
      const job = this.last.then(() => this.thread.run({ source, bytes }, own(bytes)));
      this.last = job.catch(() => undefined);
      const answer = await job;
      const isRefused = 'refusal' in answer || answer.isRefused;
      workMs = (answer.workMs + length * ARRIVAL_MS_PER_BYTE) * (isRefused ? CHARGE_OF_REFUSED : 1);
      return deliveredIn(answer) as Delivered<FactsOf[Source]> | Unread;
    } finally {
      this.pace.charge(requestContext().caller!.consumerKey, workMs);
    }
  }

  onApplicationShutdown(): Promise<void> {
    return this.thread.end();
  }
}

/**
 * Returns the body's underlying buffer if the buffer contains only the body. In this case, the buffer can be
 * transferred to the thread without a copy. Otherwise, returns an empty list.
 */
function own({ buffer, byteLength }: Buffer): ArrayBuffer[] {
  return byteLength === buffer.byteLength ? [buffer as ArrayBuffer] : [];
}

function readHere<Source extends ResultSource>(
  source: Source,
  bytes: Buffer | undefined,
): Delivered<FactsOf[Source]> | Unread {
  try {
    return readDelivered(source, bytes);
  } catch (refusal) {
    if (refusal instanceof DomainError) return { refusal, bytes };
    throw refusal;
  }
}

function deliveredIn(answer: Answer): Delivered<unknown> | Unread {
  if ('refusal' in answer) return { refusal: refused(answer.refusal), bytes: bufferOf(answer.bytes) };
  const { facts, faults, isRefused, kept } = answer;
  return { facts, faults, isRefused, kept: withBuffers(kept) as Delivered<unknown>['kept'] };
}

function refused({ code, detail, errors }: Refusal): DomainError {
  return problemCatalogue()
    .find((problem) => problem.code === code)!
    .error({ detail, errors });
}

/** Converts values to Buffers, because a thread passes them to the main thread as plain byte arrays. */
function withBuffers(kept: object): object {
  return Object.fromEntries(
    Object.entries(kept).map(([name, value]: [string, unknown]) => [
      name,
      value instanceof Uint8Array ? bufferOf(value) : value,
    ]),
  );
}

function bufferOf({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}
