import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import type { ProcessConfig } from './process.config.js';
import type { Logger } from './observability/logger.js';

const POLL_MS = 1_000;

/**
 * The base class of workers for jobs in the database. Workers run in processes with the `delivery` role. A worker polls
 * the database once a second, is woken when a new job is stored, and does one piece of work at a time. A shutdown waits
 * until the current piece of work is done.
 */
export abstract class Worker implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private active = false;
  private running: Promise<void> | null = null;

  protected constructor(
    private readonly config: ProcessConfig,
    protected readonly logger: Logger,
    /** The name of the kind of work that the worker does, for log lines. */
    private readonly what: string,
  ) {}

  onApplicationBootstrap(): void {
    this.active = this.config.roles.has('delivery');
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.active = false;
    await this.running;
  }

  /** Does one piece of work after another until none is pending. */
  @Interval(POLL_MS)
  poll(): Promise<void> {
    if (this.active) this.running ??= this.work().finally(() => (this.running = null));
    return this.running ?? Promise.resolve();
  }

  /** Does the next piece of pending work; returns false if there is none. */
  protected abstract doNext(): Promise<boolean>;

  private async work(): Promise<void> {
    try {
      while (this.active && (await this.doNext()));
    } catch (error) {
      this.logger.warn({ err: error }, `${this.what} failed; the next round tries again`);
    }
  }
}
