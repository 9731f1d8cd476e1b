import { fork, type ChildProcess } from 'node:child_process';
import { constants, setPriority } from 'node:os';

/**
 * Runs jobs one after another in a separate process. The program of the process sends `{ result }` or `{ error }` for each
 * job. The first job starts the process, which ends when its parent (this process) ends. If the process has died, the
 * next job starts a new process.
 *
 * A worker thread would share its address space and its garbage collection's helper threads with this process. A job
 * that allocates much memory would therefore delay the requests of other callers.
 */
export class WorkerProcess<Job extends object, Result> {
  private child: ChildProcess | null = null;
  private idle: NodeJS.Timeout | undefined;
  /** A promise that resolves when the latest job has ended. */
  private last: Promise<unknown> = Promise.resolve();

  /**
   * Prepares a process. The process is started for its first job.
   * @param program the path of the program, which must be CommonJS and load worker-start.cjs
   * @param options options of Node.js for the process
   * @param mostIdleMs the idle time, in milliseconds, after which the process is ended to release its memory; the next
   * job then starts it again. Without this time, the process is not ended.
   */
  constructor(
    private readonly program: string,
    private readonly options: readonly string[],
    private readonly mostIdleMs?: number,
  ) {}

  /**
   * Runs a job in the process, after all earlier jobs.
   * @throws Error if the job fails, or if the process ends before it has completed the job
   */
  run(job: Job): Promise<Result> {
    const done = this.last.then(() => this.runNow(job));
    this.last = done.catch(() => undefined);
    return done;
  }

  private async runNow(job: Job): Promise<Result> {
    clearTimeout(this.idle);
    const child = (this.child ??= this.start());
    child.ref();
    child.channel?.ref();
    try {
      return await answerOf<Result>(child, job, () => this.forget(child));
    } finally {
      // An idle child process must not keep this process running.
      child.unref();
      child.channel?.unref();
      if (this.mostIdleMs) this.idle = setTimeout(() => void this.end(), this.mostIdleMs).unref();
    }
  }

  /** Ends the process. A job that is running fails. */
  async end(): Promise<void> {
    clearTimeout(this.idle);
    const { child } = this;
    this.child = null;
    if (child === null || child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.ref();
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  }

  private start(): ChildProcess {
    const child = fork(this.program, {
      // Helper threads would occupy several cores while the process collects garbage.
      execArgv: ['--single-threaded', ...this.options],
      // The environment is empty, because the environment of this process contains secrets. The job has everything that
      // the program needs.
      env: {},
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      // This format transmits Buffers as bytes.
      serialization: 'advanced',
    });
    if (child.pid !== undefined) giveWay(child.pid);
    // The first `error`, `disconnect` or `exit` event shows that the process is dying.
    for (const sign of ['error', 'disconnect', 'exit']) child.on(sign, () => this.forget(child));
    return child;
  }

  /** Kills a process that is dying, and gives it no more jobs. */
  private forget(child: ChildProcess): void {
    if (this.child === child) this.child = null;
    child.kill('SIGKILL');
  }
}

/**
 * Lets other work on the machine run first. It gets about nine tenths of a core for which it competes with the process.
 * The priority is set before the process has loaded Node.js, because that alone takes 50 ms of processor time.
 */
function giveWay(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // Some sandboxes forbid the system call, for example by systemd's `@resources` filter. The process then keeps its
    // priority.
  }
}

interface Answer<Result> {
  readonly result: Result;
  readonly error?: string;
}

function answerOf<Result>(child: ChildProcess, job: object, onDeath: () => void): Promise<Result> {
  return new Promise((resolve, reject) => {
    const settle = (outcome: () => void): void => {
      child.off('message', onMessage).off('error', onError).off('exit', onExit);
      outcome();
    };
    const onMessage = (answer: unknown): void => {
      const { result, error } = answer as Answer<Result>;
      settle(() => (error === undefined ? resolve(result) : reject(new Error(error))));
    };
    const onError = (error: Error): void => {
      onDeath();
      settle(() => reject(error));
    };
    const onExit = (): void => onError(new Error('The process has ended.'));
    child.on('message', onMessage).on('error', onError).on('exit', onExit);
    child.send(job, (error) => {
      if (error) onError(error);
    });
  });
}
