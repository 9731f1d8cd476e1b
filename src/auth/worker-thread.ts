import { once } from 'node:events';
import { join } from 'node:path';
import { Worker, type ResourceLimits } from 'node:worker_threads';

/**
 * Does one job at a time in a thread of its own, by one of the programs beside this file. The thread starts with the first
 * job, and again with the next one after it died or was ended.
 */
export class WorkerThread<Job, Result> {
  private worker: Worker | null = null;

  constructor(
    private readonly program: string,
    private readonly resourceLimits: ResourceLimits,
  ) {}

  /** The caller sees to it that no other job is under way. */
  async run(job: Job): Promise<Result> {
    const worker = (this.worker ??= this.start());
    worker.ref();
    try {
      worker.postMessage(job);
      const [{ result, error }] = (await once(worker, 'message')) as [{ result: Result; error?: Error }];
      if (error) throw error;
      return result;
    } finally {
      worker.unref();
    }
  }

  async end(): Promise<void> {
    await this.worker?.terminate();
  }

  private start(): Worker {
    const worker = new Worker(join(__dirname, this.program), { resourceLimits: this.resourceLimits });
    worker.on('exit', () => {
      if (this.worker === worker) this.worker = null;
    });
    return worker;
  }
}
