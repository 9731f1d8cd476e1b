import { Worker, type TransferListItem, type WorkerOptions } from 'node:worker_threads';

/**
 * Does one job at a time in a thread of its own, by a program that posts `{ result }` or `{ error }` for each. The thread
 * starts with the first job, and again with the next one after it died or was ended.
 */
export class WorkerThread<Job, Result> {
  private worker: Worker | null = null;

  /** @param program the path of the thread's program */
  constructor(
    private readonly program: string,
    private readonly options: WorkerOptions,
  ) {}

  /** The caller sees to it that no other job is under way. */
  async run(job: Job, transferred: readonly TransferListItem[] = []): Promise<Result> {
    const worker = (this.worker ??= this.start());
    worker.ref();
    try {
      return await answerOf<Result>(worker, () => worker.postMessage(job, transferred));
    } finally {
      worker.unref();
    }
  }

  async end(): Promise<void> {
    await this.worker?.terminate();
  }

  private start(): Worker {
    const worker = new Worker(this.program, this.options);
    // The first sign of its end: whatever comes next must not be given to a thread that is dying.
    for (const sign of ['error', 'exit'])
      worker.on(sign, () => {
        if (this.worker === worker) this.worker = null;
      });
    return worker;
  }
}

function answerOf<Result>(worker: Worker, ask: () => void): Promise<Result> {
  return new Promise((resolve, reject) => {
    const settle = (outcome: () => void): void => {
      worker.off('message', onMessage).off('error', onError).off('exit', onExit);
      outcome();
    };
    const onMessage = ({ result, error }: { result: Result; error?: Error }) =>
      settle(() => (error ? reject(error) : resolve(result)));
    const onError = (error: Error) => settle(() => reject(error));
    const onExit = () => settle(() => reject(new Error('The thread has ended.')));
    worker.on('message', onMessage).on('error', onError).on('exit', onExit);
    ask();
  });
}
