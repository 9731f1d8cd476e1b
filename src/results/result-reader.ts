import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { problemCatalogue, type DomainError, type Fault } from '../platform/errors.js';
import { readDelivered, type Delivered, type FactsOf } from './result-delivered.js';
import type { ResultSource } from './results.rules.js';

/** Longer bodies are read in the thread: on the way to and fro a short one would lose more than its reading takes. */
const SHORT_BYTES = 32 * 1024;
/** A body of 8 MiB and 100,000 values takes a third of it. */
const MOST_HEAP_MB = 256;

interface Refusal {
  code: string;
  detail: string;
  errors: Fault[];
}
type Answer = { kept: object; facts: object } | { refusal: Refusal } | { error: Error };

/** Reads results: parses, checks and hashes them. Large ones in a thread, so that no body keeps the event loop. */
@Injectable()
export class ResultReader implements OnApplicationShutdown {
  /** How the thread's program is started, beyond what it is by itself: the tests run the sources. */
  static readonly execArgv: string[] = [];

  private worker: Worker | null = null;
  /** The job before; one at a time. */
  private last: Promise<unknown> = Promise.resolve();

  /** @throws DomainError malformed_json, payload_too_large, validation_error with every fault */
  read<Source extends ResultSource>(source: Source, bytes: Buffer | undefined): Promise<Delivered<FactsOf[Source]>> {
    if (bytes === undefined || bytes.length <= SHORT_BYTES)
      return new Promise((resolve) => resolve(readDelivered(source, bytes)));
    const job = this.last.then(() => this.readInThread(source, bytes));
    this.last = job.catch(() => undefined);
    return job as Promise<Delivered<FactsOf[Source]>>;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.worker?.terminate();
  }

  private async readInThread(source: ResultSource, bytes: Buffer): Promise<Delivered<unknown>> {
    const worker = (this.worker ??= this.start());
    worker.ref();
    try {
      const own = bytes.byteLength === bytes.buffer.byteLength;
      worker.postMessage({ source, bytes }, own ? [bytes.buffer as ArrayBuffer] : []);
      const [answer] = (await once(worker, 'message')) as [Answer];
      if ('refusal' in answer) throw refused(answer.refusal);
      if ('error' in answer) throw answer.error;
      return { facts: answer.facts, kept: withBuffers(answer.kept) as Delivered<unknown>['kept'] };
    } finally {
      worker.unref();
    }
  }

  private start(): Worker {
    const worker = new Worker(join(__dirname, 'result-reader-thread.cjs'), {
      execArgv: ResultReader.execArgv,
      resourceLimits: { maxOldGenerationSizeMb: MOST_HEAP_MB },
    });
    worker.on('exit', () => {
      if (this.worker === worker) this.worker = null;
    });
    return worker;
  }
}

function refused({ code, detail, errors }: Refusal): DomainError {
  return problemCatalogue()
    .find((problem) => problem.code === code)!
    .error({ detail, errors });
}

/** Buffers come out of a thread as plain bytes. */
function withBuffers(kept: object): object {
  return Object.fromEntries(
    Object.entries(kept).map(([name, value]: [string, unknown]) => [
      name,
      value instanceof Uint8Array ? Buffer.from(value.buffer, value.byteOffset, value.length) : value,
    ]),
  );
}
