import { clearTimeout as clearRealTimeout, setTimeout as setRealTimeout } from 'node:timers';
import { Client } from 'pg';
import { processOf, type SimulatedTime } from './simulated-time.js';

/** Generates random numbers from a seed (mulberry32). */
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
  readonly label: string;
  readonly process: number | undefined;
  readonly go: () => void;
}

/**
 * The real time, in milliseconds, to wait for the response to a statement. After this time, PostgreSQL is asked why the
 * statement waits.
 */
const LOOK_MS = 10;
/** A time limit, in milliseconds of real time. It is so long that even a slow machine does not exceed it. */
const STUCK_MS = 120_000;
/**
 * The maximum time, in milliseconds, that a statement waits for a lock. It is the service's statement_timeout within a
 * transaction, and its lock_timeout outside of transactions.
 */
const LONGEST_WAIT_MS = { inTransaction: 7_000, alone: 2_000 };

/** SQL: lists the client connections, each with the connections that block it and the state of its transaction. */
const ACTIVITY = `SELECT pid, pg_blocking_pids(pid) AS by, state LIKE 'idle in transaction%' AS idle,
    xact_start < query_start AS "inTransaction"
  FROM pg_stat_activity WHERE backend_type = 'client backend'`;

interface Activity {
  readonly pid: number;
  readonly by: readonly number[];
  readonly idle: boolean;
  readonly inTransaction: boolean;
}

/** A connection of `pg`, with the members that @types/pg does not declare. */
type Connected = Client & { processID: number | null; connection: { stream: { destroyed: boolean } } };
type Query = (text: string, values?: unknown[]) => Promise<{ rows: Activity[] }>;

/**
 * Schedules the simulated processes. Waiting processes continue one at a time, in an order that the seed determines. No
 * process continues while a statement is unanswered, unless PostgreSQL reports that the statement waits for a lock that
 * a waiting process holds. The timeout for such a lock uses simulated time.
 */
export class FairSemaphore {
  private waiting: Turn[] = [];
  private readonly stopped = new Set<number>();
  /** The number of unanswered statements of each connection. */
  private readonly onTheWay = new Map<Connected, number>();
  /** The statements that wait for a lock, each with the start of the wait and its maximum duration. */
  private blocked = new Map<number, { since: number; most: number }>();
  private onAnswer: () => void = () => undefined;
  private monitor: Query = () => Promise.reject(new Error('There is no connection to ask over.'));

  constructor(private readonly time: SimulatedTime) {
    // The functions that replace `query` and `connect` are called as methods of the client, so that the client is their
    // `this`.
    const client = Client.prototype as unknown as Record<'query' | 'connect', (...args: unknown[]) => unknown>;
    const { query } = client;
    this.ask = (over) => (this.monitor = query.bind(over) as Query);
    for (const name of ['query', 'connect'] as const) client[name] = this.counted(client[name]);
  }

  /** Sets the connection that the semaphore uses to ask PostgreSQL why statements wait. */
  readonly ask: (over: Client) => void;

  get hasAny(): boolean {
    return this.waiting.some(({ process }) => !this.isStopped(process));
  }

  /**
   * Resolves when the seeded random choice selects this caller.
   * @param label sorts the waiting callers before the choice. Their order of arrival is not deterministic, because
   *   PostgreSQL responds in any order to two callers that waited for the same lock.
   */
  wait(label: string): Promise<void> {
    const process = processOf.getStore();
    return new Promise((go) => this.waiting.push({ label: `${process} ${label}`, process, go }));
  }

  isStopped(process: number | undefined): boolean {
    return process !== undefined && this.stopped.has(process);
  }

  /** Stops a simulated process, as SIGSTOP would stop a real one. */
  stop(process: number): void {
    this.stopped.add(process);
  }

  continue(process: number): void {
    this.stopped.delete(process);
  }

  async release(chance: Chance): Promise<void> {
    const able = this.waiting
      .filter(({ process }) => !this.isStopped(process))
      .sort((a, b) => (a.label < b.label ? -1 : Number(a.label > b.label)));
    if (able.length === 0) return;
    const turn = chance.pick(able);
    this.waiting = this.waiting.filter((other) => other !== turn);
    turn.go();
    await this.quiet();
  }

  /** Resolves when everything waits for a turn, for time, or for a lock. */
  async quiet(): Promise<void> {
    const giveUpAt = process.hrtime.bigint() + BigInt(STUCK_MS * 1e6);
    for (let still = 0; still < 4;) {
      await new Promise((resolve) => setImmediate(resolve));
      for (const client of this.onTheWay.keys()) if (client.connection.stream.destroyed) this.onTheWay.delete(client);
      still = this.onTheWay.size === 0 ? still + 1 : 0;
      if (still > 0 || (await this.isAnswered())) continue;
      if (await this.isBlocked()) return;
      if (process.hrtime.bigint() > giveUpAt) throw new Error('A statement has no answer, and waits for no lock.');
    }
    this.blocked.clear();
  }

  /** Cancels the statements whose maximum duration of waiting for a lock ends by the given simulated time. */
  async expire(at: number): Promise<void> {
    const late = [...this.blocked].filter(([, { since, most }]) => since + most <= at);
    if (late.length === 0) return;
    await this.monitor('SELECT pg_cancel_backend(pid) FROM unnest($1::int[]) AS pid', [late.map(([pid]) => pid)]);
    for (const [pid] of late) this.blocked.delete(pid);
    await this.quiet();
  }

  /** Returns whether a response arrives within a moment of real time. */
  private isAnswered(): Promise<boolean> {
    return new Promise((resolve) => {
      const limit = setRealTimeout(() => resolve(false), LOOK_MS);
      this.onAnswer = () => {
        clearRealTimeout(limit);
        resolve(true);
      };
    });
  }

  /**
   * Returns whether every unanswered statement waits, directly or indirectly, for a transaction whose owner is idle.
   */
  private async isBlocked(): Promise<boolean> {
    const asked = [...this.onTheWay.keys()];
    const { rows } = await this.monitor(ACTIVITY);
    const activity = new Map(rows.map((row) => [row.pid, row]));
    const waits = (pid: number, seen: readonly number[]): boolean => {
      const { by = [], idle = false } = activity.get(pid) ?? {};
      if (seen.includes(pid)) return false;
      return by.length === 0 ? idle : by.every((other) => waits(other, [...seen, pid]));
    };
    const pids = asked.map(({ processID }) => processID ?? 0);
    if (!pids.every((pid) => (activity.get(pid)?.by.length ?? 0) > 0 && waits(pid, []))) return false;
    // If statements were answered or sent in the meantime, PostgreSQL must be asked again which statements wait.
    if (asked.length !== this.onTheWay.size || !asked.every((client) => this.onTheWay.has(client))) return false;
    const since = this.time.ms;
    this.blocked = new Map(
      pids.map((pid) => {
        const most = LONGEST_WAIT_MS[activity.get(pid)!.inTransaction ? 'inTransaction' : 'alone'];
        return [pid, this.blocked.get(pid) ?? { since, most }];
      }),
    );
    return true;
  }

  /** Wraps a method of PostgreSQL's client, so that its unanswered statements are counted. */
  private counted(method: (...args: unknown[]) => unknown) {
    const { onTheWay } = this;
    const count = (client: Connected, change: number) => {
      const left = (onTheWay.get(client) ?? 0) + change;
      if (left > 0) onTheWay.set(client, left);
      else onTheWay.delete(client);
      if (change < 0) this.onAnswer();
    };
    return function (this: Connected, ...args: unknown[]): unknown {
      count(this, 1);
      const end = () => count(this, -1);
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
