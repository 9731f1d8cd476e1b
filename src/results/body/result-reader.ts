import { join } from 'node:path';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { DomainError, problemCatalogue, type Fault } from '../../platform/errors.js';
import { requestContext } from '../../platform/context/request-context.js';
import { LABORIOUS_BYTES } from '../../platform/http/body.js';
import { BodyPace } from '../../platform/overload/body-pace.js';
import { WorkerProcess } from '../../platform/worker-process.js';
import type { KeptBody } from './result-body.js';
import { readDelivered, type Delivered, type FactsOf } from './result-delivered.js';
import type { ResultSource } from './results.rules.js';

/**
 * The options of the process that reads results. A body of 8 MiB with 100,000 values needs a third of the heap. With the
 * default size of the space for new objects, the objects of a large body are copied several times.
 */
const OPTIONS = ['--max-old-space-size=256', '--max-semi-space-size=64'];
/** The idle time, in milliseconds, after which the process is ended. After a large body, it occupies up to 250 MB. */
const IDLE_MS = 5 * 60_000;

interface Refusal {
  code: string;
  detail: string;
  errors: Fault[];
}
/** The parts of a body. A part that the body contains is passed as two byte offsets, its start and its end. */
type Parts = Record<keyof KeptBody, Buffer | null | [start: number, end: number]>;
type Answer = { workMs: number; hasManyValues: boolean } & (
  (Omit<Delivered<unknown>, 'kept'> & { kept: Parts }) | { refusal: Refusal }
);

/** The bytes of a body that is not a JSON object, with the error with which the body is refused. */
export interface Unread {
  readonly refusal: DomainError;
  readonly bytes: Buffer | undefined;
}

/** The estimated time for passing a body to the process, in milliseconds per byte. */
const ARRIVAL_MS_PER_BYTE = 2 / (1024 * 1024);
/** The processing time, in milliseconds, that is charged to the sender of a body that crashes the process. */
const MOST_WORK_MS = 10_000;
/**
 * If a body is invalid, the processing time that is charged to its sender is multiplied by this factor. The higher
 * charge limits a sender to one refused body of 8 MiB in about three seconds.
 */
const CHARGE_OF_REFUSED = 20;
/**
 * The factor for a valid body with many values (result-reader-process.cjs). Reading such a body slows down the requests
 * of other callers. Because of the factor, the bodies of one sender slow down less than 2 % of these requests.
 */
const CHARGE_OF_MANY_VALUES = 8;

/** Parses, checks and hashes results. Large results are read in a process, so that they do not block the event loop. */
@Injectable()
export class ResultReader implements OnApplicationShutdown {
  /**
   * Additional Node.js options for the process. Tests set them to run the process's program from the TypeScript sources.
   */
  static readonly execArgv: string[] = [];

  private readonly process = new WorkerProcess<{ source: ResultSource; bytes: Buffer }, Answer>(
    join(__dirname, 'result-reader-process.cjs'),
    [...OPTIONS, ...ResultReader.execArgv],
    IDLE_MS,
  );

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
    let workMs = MOST_WORK_MS;
    try {
      const answer = await this.process.run({ source, bytes });
      workMs = (answer.workMs + bytes.length * ARRIVAL_MS_PER_BYTE) * chargeOf(answer);
      if ('refusal' in answer) return { refusal: refused(answer.refusal), bytes };
      const { kept, facts, faults, isRefused } = answer;
      return { kept: cutOut(kept, bytes), facts: facts as FactsOf[Source], faults, isRefused };
    } finally {
      this.pace.charge(requestContext().caller!.consumerKey, workMs);
    }
  }

  onApplicationShutdown(): Promise<void> {
    return this.process.end();
  }
}

function chargeOf(answer: Answer): number {
  if ('refusal' in answer || answer.isRefused) return CHARGE_OF_REFUSED;
  return answer.hasManyValues ? CHARGE_OF_MANY_VALUES : 1;
}

function cutOut(parts: Parts, body: Buffer): KeptBody {
  const of = (part: Parts[keyof Parts]) => (Array.isArray(part) ? body.subarray(...part) : part);
  return Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, of(part)])) as unknown as KeptBody;
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

function refused({ code, detail, errors }: Refusal): DomainError {
  return problemCatalogue()
    .find((problem) => problem.code === code)!
    .error({ detail, errors });
}
