import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { serviceUnavailable } from '../platform/errors.js';
import { randomToken } from '../platform/secrets.js';
import { WorkerThread } from '../platform/worker-thread.js';

/** OWASP's minimum for argon2id, the algorithm that the package takes by default; about 10 ms on one core. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** Leaves a core to everybody else. */
const THREADS = Math.max(1, Math.min(2, availableParallelism() - 1));
const MOST_WAITING = 128;
const RETRY_AFTER_S = 2;

type Job = { password: string; cost: typeof COST } | { password: string; hashed: string };

type HashingThread = WorkerThread<Job, string | boolean>;

function newThread(): HashingThread {
  return new WorkerThread(join(__dirname, 'password-worker.cjs'), {
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 4 },
  });
}

/**
 * Hashes passwords with argon2id, in threads of low priority that work half of the time at most: a flood of token requests
 * queues up here and, beyond the bound, is sent away with 503, while the rest of the service keeps its latency.
 */
@Injectable()
export class Passwords implements OnModuleInit, OnApplicationShutdown {
  private readonly threads = Array.from({ length: THREADS }, newThread);
  private readonly idle = [...this.threads];
  private readonly waiting: ((thread: HashingThread) => void)[] = [];
  /** The hash of a password that nobody knows: checked in place of an unknown user's, so that it takes as long. */
  private decoy: Promise<string>;

  onModuleInit(): void {
    this.decoy = this.hash(randomToken());
    // Whoever needs it is told.
    this.decoy.catch(() => undefined);
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all(this.threads.map((thread) => thread.end()));
  }

  async hash(password: string): Promise<string> {
    return (await this.inTurn({ password, cost: COST })) as string;
  }

  /** Whether the password fits; `hashed` is null when there is no such user. */
  async verify(hashed: string | null, password: string): Promise<boolean> {
    return (await this.inTurn({ password, hashed: hashed ?? (await this.decoy) })) as boolean;
  }

  private async inTurn(job: Job): Promise<string | boolean> {
    const thread = this.idle.pop() ?? (await this.nextFree());
    const started = performance.now();
    try {
      return await thread.run(job);
    } finally {
      // While others wait it rests as long as it worked: half of a core is left to those whose turn is not here.
      if (this.waiting.length > 0) setTimeout(() => this.handOn(thread), performance.now() - started);
      else this.handOn(thread);
    }
  }

  private handOn(thread: HashingThread): void {
    const next = this.waiting.shift();
    if (next) next(thread);
    else this.idle.push(thread);
  }

  private nextFree(): Promise<HashingThread> {
    if (this.waiting.length >= MOST_WAITING)
      throw serviceUnavailable.error({ headers: { 'Retry-After': String(RETRY_AFTER_S) } });
    return new Promise((resolve) => this.waiting.push(resolve));
  }
}
