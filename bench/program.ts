import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';

/** A program in this folder that runs in a separate process. When it is ready, it sends `{ ready: … }` over IPC. */
export class Program<Ready = unknown> {
  private constructor(
    readonly child: ChildProcess,
    readonly ready: Ready,
  ) {}

  /**
   * Starts a program in this folder, and waits until it is ready.
   * @param options the program's single argument, which is passed as JSON
   */
  static async start<Ready>(name: string, options: object, log: string): Promise<Program<Ready>> {
    const output = openSync(log, 'a');
    const child = fork(join(__dirname, `${name}.js`), [JSON.stringify(options)], {
      stdio: ['ignore', output, output, 'ipc'],
    });
    closeSync(output);
    const { ready } = await heard<{ ready: Ready }>(child, name, (message) => 'ready' in message);
    return new Program(child, ready);
  }

  /** Sends a question to the program and waits for its reply. Only one question at a time may be unanswered. */
  async ask<Answer extends object>(question: object): Promise<Answer> {
    const answer = this.heard<Answer>();
    this.child.send(question);
    return answer;
  }

  /** Waits for the program's next message of any kind. */
  heard<Message extends object>(): Promise<Message> {
    return heard<Message>(this.child, 'a program of the benchmark', () => true);
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    await ended;
  }
}

function heard<Message extends object>(
  child: ChildProcess,
  name: string,
  isWanted: (message: object) => boolean,
): Promise<Message> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null) => settle(() => reject(new Error(`${name} ended with code ${code}.`)));
    const message = (value: object) => {
      if ('error' in value) settle(() => reject(new Error(`${name}: ${String(value.error)}`)));
      else if (isWanted(value)) settle(() => resolve(value as Message));
    };
    const settle = (outcome: () => void) => {
      child.off('exit', ended).off('message', message);
      outcome();
    };
    child.on('exit', ended).on('message', message);
    if (child.exitCode !== null) ended(child.exitCode);
  });
}

/** Returns the options with which this program was started. */
export function programOptions<Options>(): Options {
  return JSON.parse(process.argv[2]) as Options;
}

/** Sends a message to the program that started this program. */
export function tell(message: object): void {
  process.send?.(message);
}

export function endWithOrchestrator(): void {
  process.once('disconnect', () => process.exit(0));
}
