import { randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { requestContext } from '../../platform/context/request-context.js';
import { serviceUnavailable } from '../../platform/errors.js';
import { FairQueue, type Flow } from '../../platform/overload/fair-queue.js';
import { WorkerProcess } from '../../platform/worker-process.js';

/**
 * The minimum parameters that OWASP recommends for argon2id, the default algorithm of the package. A hash takes about
 * 10 ms on one core.
 */
const COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** The number of processes that hash passwords. One core stays free for other work. */
export const PROCESSES = Math.max(1, Math.min(2, availableParallelism() - 1));
const MOST_WAITING = 128;
const RETRY_AFTER_S = 2;
/**
 * The maximum time for which a password waits in the queue, in milliseconds. It is long enough for a busy machine, and
 * shorter than the 30 s after which an idle connection is closed.
 */
const MOST_WAIT_MS = 20_000;
/**
 * The pause of the hashing process after a hash if other entries wait in the queue, as a multiple of the hash's
 * processor time.
 */
const REST_OF_PROCESS = 1;
/** The pause of a group of callers after a hash if the group still has entries, as a multiple in the same way. */
const REST_OF_GROUP = 4;
/**
 * The longest pause of a caller that still has entries. Its first pause is as long as that of its group, and grows by one
 * with each hash until the caller has no more entries. The pauses of a burst are therefore short, and those of a flood
 * are long.
 */
const MOST_REST_OF_CALLER = 32;
/**
 * The group of callers that contains the operators who set passwords. It is separate, so that these operators do not
 * wait behind token requests.
 */
const ADMINISTRATION = 'administration';

type Job = { password: string; cost: typeof COST } | { password: string; hashed: string };

/**
 * The result that a hashing process reports. `ms` is the processor time of the hash. Other work on the same core does
 * not count.
 */
interface Hashed {
  readonly value: string | boolean;
  readonly ms: number;
}

type HashingProcess = WorkerProcess<Job, Hashed>;

interface Entry {
  readonly flow: Flow;
  readonly job: Job;
  readonly since: number;
  readonly resolve: (value: string | boolean) => void;
  readonly reject: (error: unknown) => void;
}

/** The pause of a caller after a hash. */
interface Pause {
  readonly flow: Flow;
  /** The time at which the pause ends, as measured by `performance.now()`. */
  readonly until: number;
  /** The length of the pause, as a multiple of the hash's processor time. */
  readonly rest: number;
}

function newProcess(): HashingProcess {
  return new WorkerProcess(join(__dirname, 'password-process.cjs'), [
    '--max-old-space-size=16',
    '--max-semi-space-size=1',
  ]);
}

/**
 * Hashes passwords with argon2id, in processes of low priority. Each hash allocates and frees 19 MiB. In a thread of
 * this process, a hash would therefore delay all other threads.
 *
 * 1. Every hash waits in one fair queue. The queue serves groups of callers in turn, and the callers of each group in
 *    turn. Each application is a group, and its callers are addresses. The console's sign-in form is a group, too.
 * 2. When the queue is full, the newest entry of the caller with the most entries, in the group with the most entries,
 *    is refused with 503. An entry that waits too long is also refused.
 * 3. A group that still has waiting entries pauses after each hash, so that it takes at most a fifth of a core. A caller
 *    that still has waiting entries pauses for longer and longer, until its flood takes 3 % of a core. The latency of
 *    other requests therefore stays low, and other callers of the same group do not wait for the flood.
 *
 * Never hash a password outside this queue, because the hash would delay all other requests.
 */
@Injectable()
export class Passwords implements OnApplicationShutdown {
  private readonly processes = Array.from({ length: PROCESSES }, newProcess);
  private readonly idle = [...this.processes];
  private readonly waiting = new FairQueue<Entry>(MOST_WAITING);
  /** The time at which the pause of each paused group ends, as measured by `performance.now()`. */
  private readonly groupsRestingUntil = new Map<string, number>();
  /** The latest pause of each caller that still has entries, by {@link keyOf}. */
  private readonly pauses = new Map<string, Pause>();
  private wakeUp: NodeJS.Timeout | undefined;
  /**
   * A hash that matches no password. The password of an unknown user is compared with this hash, so that the check
   * takes as long as for a known user.
   */
  private readonly decoy = decoyHash();

  async onApplicationShutdown(): Promise<void> {
    clearTimeout(this.wakeUp);
    // The queue is emptied first, because the next entry in the queue would restart a stopped process.
    for (let entry = this.waiting.shift(); entry; entry = this.waiting.shift()) entry.reject(overloaded());
    await Promise.all(this.processes.map((process) => process.end()));
  }

  /** Hashes a new password. In the fair queue, the operators who set passwords are served in turn. */
  async hash(password: string): Promise<string> {
    const member = requestContext().caller?.username ?? '';
    return (await this.inTurn({ group: ADMINISTRATION, member }, { password, cost: COST })) as string;
  }

  /**
   * Returns whether the password matches the hash.
   * @param hashed the stored hash; null if the user does not exist
   */
  async verify(flow: Flow, hashed: string | null, password: string): Promise<boolean> {
    return (await this.inTurn(flow, { password, hashed: hashed ?? this.decoy })) as boolean;
  }

  private inTurn(flow: Flow, job: Job): Promise<string | boolean> {
    return new Promise((resolve, reject) => {
      const dropped = this.waiting.push(flow, { flow, job, since: performance.now(), resolve, reject });
      dropped?.reject(overloaded());
      this.handOut();
    });
  }

  /**
   * Gives the next entries of the queue to idle processes. If only paused callers have entries, the function runs again
   * when the first pause ends.
   */
  private handOut(): void {
    clearTimeout(this.wakeUp);
    const now = performance.now();
    for (const [group, until] of this.groupsRestingUntil) if (until <= now) this.groupsRestingUntil.delete(group);
    for (const [key, { flow, until }] of this.pauses)
      if (until <= now && !this.waiting.has(flow.group, flow.member)) this.pauses.delete(key);
    const hasRested = (flow: Flow): boolean =>
      !this.groupsRestingUntil.has(flow.group) && (this.pauses.get(keyOf(flow))?.until ?? 0) <= now;
    while (this.idle.length > 0) {
      const entry = this.waiting.shift(hasRested);
      if (entry === undefined) break;
      if (now - entry.since > MOST_WAIT_MS) entry.reject(overloaded());
      else void this.run(this.idle.pop()!, entry);
    }
    if (this.idle.length === 0 || this.waiting.length === 0) return;
    const ends = [...this.groupsRestingUntil.values(), ...Array.from(this.pauses.values(), ({ until }) => until)];
    const next = Math.min(...ends.filter((until) => until > now));
    this.wakeUp = setTimeout(() => this.handOut(), next - now);
  }

  private async run(hashing: HashingProcess, { flow, job, resolve, reject }: Entry): Promise<void> {
    let worked = 0;
    try {
      const { value, ms } = await hashing.run(job);
      worked = ms;
      resolve(value);
    } catch (error) {
      reject(error);
    }
    this.pause(flow, worked);
    const free = (): void => {
      this.idle.push(hashing);
      this.handOut();
    };
    if (this.waiting.length > 0) setTimeout(free, worked * REST_OF_PROCESS);
    else free();
  }

  private pause(flow: Flow, workedMs: number): void {
    const now = performance.now();
    const { group, member } = flow;
    if (this.waiting.has(group)) this.groupsRestingUntil.set(group, now + workedMs * REST_OF_GROUP);
    if (!this.waiting.has(group, member)) return;
    const last = this.pauses.get(keyOf(flow))?.rest ?? REST_OF_GROUP - 1;
    const rest = Math.min(last + 1, MOST_REST_OF_CALLER);
    this.pauses.set(keyOf(flow), { flow, until: now + workedMs * rest, rest });
  }
}

function keyOf({ group, member }: Flow): string {
  return JSON.stringify([group, member]);
}

function overloaded(): Error {
  return serviceUnavailable.error({ headers: { 'Retry-After': String(RETRY_AFTER_S) } });
}

function decoyHash(): string {
  const { memoryCost, timeCost, parallelism } = COST;
  const [salt, hash] = [16, 32].map((length) => randomBytes(length).toString('base64').replaceAll('=', ''));
  return `$argon2id$v=19$m=${memoryCost},t=${timeCost},p=${parallelism}$${salt}$${hash}`;
}
