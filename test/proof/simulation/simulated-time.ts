import { AsyncLocalStorage } from 'node:async_hooks';
import { createRequire } from 'node:module';

interface Timer {
  readonly due: number;
  readonly process: number | undefined;
  readonly call: () => void;
}

/** The simulated process on whose behalf the current code runs. */
export const processOf = new AsyncLocalStorage<number>();

/**
 * Simulated time, which advances only when `advance` is called. After `install`, it replaces Node's timers, clocks and
 * random numbers. Intervals never fire, because the simulation itself starts the rounds.
 */
export class SimulatedTime {
  private readonly timers = new Set<Timer>();
  private readonly start = Date.now();
  private elapsed = 0;
  private uninstall: () => void = () => undefined;

  get now(): Date {
    return new Date(this.start + this.elapsed);
  }

  /** The milliseconds of simulated time that have passed since the beginning. */
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
    // The compiled sources read `setTimeout` from the module's object at each call. Replacing the function in this
    // object therefore takes effect everywhere.
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

  /**
   * Makes random numbers predictable. Call this method after the applications have been created, because NestJS
   * generates random ids while it creates them.
   */
  fixChance(): void {
    Math.random = () => 0.5;
  }

  /** Restores the machine's real time. */
  end(): void {
    this.uninstall();
  }

  /**
   * Advances the time, and calls due timers in order. The timers of a stopped process run only when the process
   * continues.
   */
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
