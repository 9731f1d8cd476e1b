import { clearTimeout as clearRealTimeout, setTimeout as setRealTimeout } from 'node:timers';
import { Client } from 'pg';
import { processOf } from './simulated-time.js';

/** Numbers from a seed (mulberry32): the same seed, the same numbers. */
export class Chance {
  constructor(private state: number) {}

  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  below(n: number): number {
    return Math.floor(this.next() * n);
  }

  hits(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(values: readonly T[]): T {
    return values[this.below(values.length)];
  }
}

interface Turn {
  readonly process: number | undefined;
  readonly go: () => void;
}

/** How long, really, a statement may take before it is taken to wait for a lock of another transaction. */
const BLOCKED_MS = 40;

/** Who waits for its turn goes on when it is chosen, one at a time: the order is the seed's, not the machine's. */
export class Turns {
  private waiting: Turn[] = [];
  private readonly stopped = new Set<number>();
  private onTheWay = 0;
  private onAnswer: () => void = () => undefined;

  constructor() {
    // Both are called as methods of the client that they are put into.
    const client = Client.prototype as unknown as Record<'query' | 'connect', (...args: unknown[]) => unknown>;
    for (const name of ['query', 'connect'] as const) client[name] = this.counted(client[name]);
  }

  get hasAny(): boolean {
    return this.waiting.some(({ process }) => !this.isStopped(process));
  }

  wait(): Promise<void> {
    return new Promise((go) => this.waiting.push({ process: processOf.getStore(), go }));
  }

  isStopped(process: number | undefined): boolean {
    return process !== undefined && this.stopped.has(process);
  }

  /** As by SIGSTOP: nothing of the process goes on. */
  stop(process: number): void {
    this.stopped.add(process);
  }

  continue(process: number): void {
    this.stopped.delete(process);
  }

  async release(chance: Chance): Promise<void> {
    const able = this.waiting.filter(({ process }) => !this.isStopped(process));
    if (able.length === 0) return;
    const turn = chance.pick(able);
    this.waiting = this.waiting.filter((other) => other !== turn);
    turn.go();
    await this.quiet();
  }

  /** Nothing runs but what waits for its turn, for time, or for a lock. */
  async quiet(): Promise<void> {
    const giveUpAt = process.hrtime.bigint() + BigInt(BLOCKED_MS * 1e6);
    for (let still = 0; still < 4;) {
      await new Promise((resolve) => setImmediate(resolve));
      still = this.onTheWay === 0 ? still + 1 : 0;
      if (this.onTheWay === 0) continue;
      const leftMs = Number(giveUpAt - process.hrtime.bigint()) / 1e6;
      if (leftMs <= 0) return;
      await this.answerOr(leftMs);
    }
  }

  /** Real time passes: the server needs it more than this process does. */
  private answerOr(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const limit = setRealTimeout(resolve, ms);
      this.onAnswer = () => {
        clearRealTimeout(limit);
        resolve();
      };
    });
  }

  /** What goes to PostgreSQL and has not come back. */
  private counted(method: (...args: unknown[]) => unknown) {
    const begin = () => (this.onTheWay += 1);
    const end = () => {
      this.onTheWay -= 1;
      this.onAnswer();
    };
    return function (this: Client, ...args: unknown[]): unknown {
      begin();
      const callback = args.at(-1);
      if (typeof callback === 'function') {
        args[args.length - 1] = (...answer: unknown[]) => {
          end();
          (callback as (...answer: unknown[]) => void)(...answer);
        };
        return method.apply(this, args);
      }
      const answer = method.apply(this, args) as Promise<unknown> | undefined;
      if (typeof answer?.then === 'function') answer.then(end, end);
      else end();
      return answer;
    };
  }
}
