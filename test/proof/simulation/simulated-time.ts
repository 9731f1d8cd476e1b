import { AsyncLocalStorage } from 'node:async_hooks';
import { createRequire } from 'node:module';

interface Timer {
  readonly due: number;
  readonly process: number | undefined;
  readonly call: () => void;
}

/** The process on whose behalf something runs. */
export const processOf = new AsyncLocalStorage<number>();

/**
 * Time that stands still until it is moved. It takes the place of the timers, clocks and dice of Node for everything that is
 * called after `install`; intervals never fire: who simulates starts the rounds himself.
 */
export class SimulatedTime {
  private readonly timers = new Set<Timer>();
  private readonly start = Date.now();
  private elapsed = 0;
  private uninstall: () => void = () => undefined;

  get now(): Date {
    return new Date(this.start + this.elapsed);
  }

  /** Milliseconds since the beginning. */
  get ms(): number {
    return this.elapsed;
  }

  install(): void {
    const timer = (call: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => {
      const entry: Timer = {
        due: this.elapsed + ms,
        process: processOf.getStore(),
        call: AsyncLocalStorage.bind(() => call(...args)),
      };
      this.timers.add(entry);
      return Object.assign(entry, { unref: () => entry, ref: () => entry, hasRef: () => true });
    };
    const { setTimeout, clearTimeout, setInterval, clearInterval } = globalThis;
    const [dateNow, performanceNow] = [Date.now.bind(Date), performance.now.bind(performance)];
    const { random } = Math;
    const forget = (entry: unknown) => void this.timers.delete(entry as Timer);
    Object.assign(globalThis, {
      setTimeout: timer,
      clearTimeout: forget,
      setInterval: () => ({ unref: () => undefined, ref: () => undefined }),
      clearInterval: () => undefined,
    });
    // The compiled sources read this binding at each call.
    const promises = createRequire(__filename)('node:timers/promises') as { setTimeout: unknown };
    const pause = promises.setTimeout;
    this.uninstall = () => {
      Object.assign(globalThis, { setTimeout, clearTimeout, setInterval, clearInterval });
      Object.assign(promises, { setTimeout: pause });
      Date.now = dateNow;
      performance.now = performanceNow;
      Math.random = random;
    };
    promises.setTimeout = (ms?: number, value?: unknown) => new Promise((resolve) => timer(() => resolve(value), ms));
    Date.now = () => this.start + this.elapsed;
    performance.now = () => this.elapsed;
  }

  /** Chance too stands still; not before the applications are made, whose framework draws names for its parts. */
  fixChance(): void {
    Math.random = () => 0.5;
  }

  /** Time is the machine's again. */
  end(): void {
    this.uninstall();
  }

  /** Moves on; what was due in between is called in its order, that of stopped processes when they go on. */
  advance(ms: number, isStopped: (process: number | undefined) => boolean): void {
    const until = this.elapsed + ms;
    for (;;) {
      let next: Timer | null = null;
      for (const timer of this.timers)
        if (timer.due <= until && !isStopped(timer.process) && (next === null || timer.due < next.due)) next = timer;
      if (next === null) break;
      this.timers.delete(next);
      this.elapsed = Math.max(this.elapsed, next.due);
      next.call();
    }
    this.elapsed = until;
  }
}
