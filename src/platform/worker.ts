import type { BeforeApplicationShutdown, OnApplicationBootstrap } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import type { Config } from '../config.js';
import type { Logger } from './observability/logger.js';

const LOOK_MS = 1_000;

/**
 * A worker for jobs stored in the database, in processes with the role `delivery`. It polls once a second, is woken for
 * new jobs, and does one piece at a time. A shutdown waits for the running piece.
 */
export abstract class Worker implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private active = false;
  private running: Promise<void> | null = null;

  protected constructor(
    private readonly config: Config,
    protected readonly logger: Logger,
    /** The name of the work, for the log. */
    private readonly what: string,
  ) {}

  onApplicationBootstrap(): void {
    this.active = this.config.roles.has('delivery');
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.active = false;
    await this.running;
  }

  /** Does all pending work; returns when there is none. */
  @Interval(LOOK_MS)
  look(): Promise<void> {
    if (this.active) this.running ??= this.work().finally(() => (this.running = null));
    return this.running ?? Promise.resolve();
  }

  /** Does the next piece of work; returns false when there is none. */
  protected abstract doNext(): Promise<boolean>;

  private async work(): Promise<void> {
    try {
      while (this.active && (await this.doNext()));
    } catch (error) {
      this.logger.warn({ err: error }, `${this.what} failed; the next round tries again`);
    }
  }
}
