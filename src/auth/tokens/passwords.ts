import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { requestContext } from '../../platform/context/request-context.js';
import { serviceUnavailable } from '../../platform/errors.js';
import { FairQueue, type Flow } from '../../platform/overload/fair-queue.js';
import { randomToken } from '../../platform/secrets.js';
import { WorkerThread } from '../../platform/worker-thread.js';

/** OWASP's minimum for argon2id, the algorithm that the package takes by default; about 10 ms on one core. */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** Leaves a core to everybody else. */
export const THREADS = Math.max(1, Math.min(2, availableParallelism() - 1));
const MOST_WAITING = 128;
const RETRY_AFTER_S = 2;
/** On a machine that is busy with other things; a connection on which nothing moves is given up after 30 s. */
const MOST_WAIT_MS = 20_000;
/** While others wait, a thread rests as long as it worked, and a group of callers with more to hash four times as long. */
const REST_OF_THREAD = 1;
const REST_OF_GROUP = 4;
/** Users are made and changed by operators, who need not wait for those who ask for tokens. */
const ADMINISTRATION = 'administration';

type Job = { password: string; cost: typeof COST } | { password: string; hashed: string };

/** The answer of the thread; its time is processor time, without the time of others on the core. */
interface Hashed {
  readonly value: string | boolean;
  readonly ms: number;
}

type HashingThread = WorkerThread<Job, Hashed>;

interface Entry {
  readonly flow: Flow;
  readonly job: Job;
  readonly since: number;
  readonly resolve: (value: string | boolean) => void;
  readonly reject: (error: unknown) => void;
}

function newThread(): HashingThread {
  return new WorkerThread(join(__dirname, 'password-worker.cjs'), {
    resourceLimits: { maxOldGenerationSizeMb: 16, maxYoungGenerationSizeMb: 4 },
  });
}

/**
 * Hashes passwords with argon2id, in threads of low priority.
 *
 * 1. Every hash waits in one fair queue: applications take turns, and the addresses of one application do. Strangers at the
 *    console's form are one group among the applications.
 * 2. When the queue is full, the longest flow loses its newest entry, which is refused with 503. So is an entry whose turn does not come in time.
 * 3. A group with more waiting rests for {@link REST_OF_GROUP} times the processor time of its last hash: a flood takes a fifth of a
 *    core, and the rest of the service keeps its latency.
 *
 * Never hash outside of this queue: whoever hashes beside it makes everybody wait.
 */
@Injectable()
export class Passwords implements OnModuleInit, OnApplicationShutdown {
  private readonly threads = Array.from({ length: THREADS }, newThread);
  private readonly idle = [...this.threads];
  private readonly waiting = new FairQueue<Entry>(MOST_WAITING);
  /** Until when groups rest, by `performance.now()`. */
  private readonly restingUntil = new Map<string, number>();
  private wakeUp: NodeJS.Timeout | undefined;
  /** The hash of a password that nobody knows. An unknown user is checked against it, so that it takes as long. */
  private decoy: Promise<string>;

  onModuleInit(): void {
    this.decoy = this.hash(randomToken());
    // The callers that need it get the error.
    this.decoy.catch(() => undefined);
  }

  async onApplicationShutdown(): Promise<void> {
    clearTimeout(this.wakeUp);
    // A thread that has ended would start again for the next entry.
    for (let entry = this.waiting.shift(); entry; entry = this.waiting.shift()) entry.reject(overloaded());
    await Promise.all(this.threads.map((thread) => thread.end()));
  }

  /** Hashes a password that somebody is given, in the turn of the operator who gives it. */
  async hash(password: string): Promise<string> {
    const member = requestContext().caller?.username ?? '';
    return (await this.inTurn({ group: ADMINISTRATION, member }, { password, cost: COST })) as string;
  }

  /** Whether the password fits; `hashed` is null when there is no such user. */
  async verify(flow: Flow, hashed: string | null, password: string): Promise<boolean> {
    return (await this.inTurn(flow, { password, hashed: hashed ?? (await this.decoy) })) as boolean;
  }

  private inTurn(flow: Flow, job: Job): Promise<string | boolean> {
    return new Promise((resolve, reject) => {
      const dropped = this.waiting.push(flow, { flow, job, since: performance.now(), resolve, reject });
      dropped?.reject(overloaded());
      this.handOut();
    });
  }

  /** Gives idle threads the entries whose turn it is; looks again when the first group has rested. */
  private handOut(): void {
    clearTimeout(this.wakeUp);
    const now = performance.now();
    for (const [group, until] of this.restingUntil) if (until <= now) this.restingUntil.delete(group);
    const hasRested = (group: string): boolean => !this.restingUntil.has(group);
    while (this.idle.length > 0) {
      const entry = this.waiting.shift(hasRested);
      if (entry === undefined) break;
      if (now - entry.since > MOST_WAIT_MS) entry.reject(overloaded());
      else void this.run(this.idle.pop()!, entry);
    }
    if (this.idle.length === 0 || this.waiting.length === 0) return;
    const next = Math.min(...this.restingUntil.values());
    this.wakeUp = setTimeout(() => this.handOut(), next - now);
  }

  private async run(thread: HashingThread, { flow, job, resolve, reject }: Entry): Promise<void> {
    let worked = 0;
    try {
      const { value, ms } = await thread.run(job);
      worked = ms;
      resolve(value);
    } catch (error) {
      reject(error);
    }
    if (this.waiting.has(flow.group)) this.restingUntil.set(flow.group, performance.now() + worked * REST_OF_GROUP);
    const free = (): void => {
      this.idle.push(thread);
      this.handOut();
    };
    if (this.waiting.length > 0) setTimeout(free, worked * REST_OF_THREAD);
    else free();
  }
}

function overloaded(): Error {
  return serviceUnavailable.error({ headers: { 'Retry-After': String(RETRY_AFTER_S) } });
}
