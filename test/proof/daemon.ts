import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

export interface DaemonOptions {
  /** The folder of the program's log file. */
  readonly folder: string;
  readonly env?: Record<string, string>;
  /** The operating-system user that runs the program. PostgreSQL, pgbouncer and Patroni refuse to run as root. */
  readonly user?: string;
  /** The text that is written to the program's standard input. */
  readonly input?: string;
}

/** A background program that can be killed and restarted. */
export class Daemon {
  private child: ChildProcess | null = null;

  constructor(
    readonly name: string,
    private readonly command: readonly string[],
    private readonly options: DaemonOptions,
  ) {}

  get isRunning(): boolean {
    return this.child !== null && this.child.exitCode === null && this.child.signalCode === null;
  }

  /** The process id of the running background program. */
  get pid(): number {
    return this.child!.pid!;
  }

  get log(): string {
    return readFileSync(this.logFile, 'utf8');
  }

  start(): void {
    if (this.isRunning) return;
    const { user, env, input } = this.options;
    const [program, ...rest] = this.command;
    const output = openSync(this.logFile, 'a');
    // The child has its own process group, so that Ctrl-C does not end the child before this program stops it.
    this.child = spawn(program, rest, {
      env: { ...process.env, ...env },
      stdio: ['pipe', output, output],
      detached: true,
      ...(user === undefined ? {} : idsOf(user)),
    });
    closeSync(output);
    this.child.stdin!.on('error', () => undefined).end(input);
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const { child } = this;
    if (child === null || !this.isRunning) return;
    const gone = once(child, 'exit');
    child.kill(signal);
    await gone;
  }

  private get logFile(): string {
    return join(this.options.folder, `${this.name}.log`);
  }
}

/** Returns the options of `spawn` that make a child process run as this user. */
export function idsOf(user: string): { uid: number; gid: number } {
  const [uid, gid] = ['-u', '-g'].map((option) => Number(execFileSync('id', [option, user], { encoding: 'utf8' })));
  return { uid, gid };
}

/** Waits until the check neither throws an error nor returns false. */
export async function until(what: string, check: () => unknown, withinMs: number): Promise<void> {
  const giveUpAt = Date.now() + withinMs;
  for (;;) {
    let cause: unknown;
    try {
      if ((await check()) !== false) return;
    } catch (error) {
      cause = error;
    }
    if (Date.now() > giveUpAt) throw new Error(`Within ${withinMs / 1000} s it never came true: ${what}.`, { cause });
    await pause(100);
  }
}
