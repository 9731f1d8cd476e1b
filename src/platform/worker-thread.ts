import { Worker, type TransferListItem, type WorkerOptions } from 'node:worker_threads';

/**
 * Runs one job at a time in a separate thread. The program of the thread posts `{ result }` or `{ error }` for each
 * job. The first job starts the thread. If the thread has died or was stopped, the next job starts a new thread.
 */
export class WorkerThread<Job, Result> {
  private worker: Worker | null = null;

  /**
   * Prepares a thread. The thread is started for its first job.
   * @param program the path of the program that the thread runs
   */
  constructor(
    private readonly program: string,
    private readonly options: WorkerOptions,
  ) {}

  /** Runs a job in the thread. The caller must ensure that no other job is running. */
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
    // The first `error` or `exit` event shows that the worker thread is dying. The thread then gets no more jobs.
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
