import { clearTimeout as clearRealTimeout, setTimeout as setRealTimeout } from 'node:timers';
import { Client } from 'pg';
import { processOf, type SimulatedTime } from './simulated-time.js';

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

/** How long, really, an answer is awaited before PostgreSQL is asked what the statement waits for. */
const LOOK_MS = 10;
/** Longer than any machine takes, really. */
const STUCK_MS = 120_000;
/** How long a statement may wait for a lock, within a transaction and by itself: statement_timeout and lock_timeout of the service. */
const LONGEST_WAIT_MS = { inTransaction: 7_000, alone: 2_000 };

/** The connections that have an answer outstanding, or hold one up. */
const ACTIVITY = `SELECT pid, pg_blocking_pids(pid) AS by, state LIKE 'idle in transaction%' AS idle,
    xact_start < query_start AS "inTransaction"
  FROM pg_stat_activity WHERE backend_type = 'client backend'`;

interface Activity {
  readonly pid: number;
  readonly by: readonly number[];
  readonly idle: boolean;
  readonly inTransaction: boolean;
}

/** Of a connection of `pg`; @types/pg does not know the members. */
type Connected = Client & { processID: number | null; connection: { stream: { destroyed: boolean } } };
type Query = (text: string, values?: unknown[]) => Promise<{ rows: Activity[] }>;

/**
 * A process that waits for its turn goes on when it is chosen, one at a time: the order is the seed's, not the machine's. A statement has
 * its answer before anything else goes on, however long that takes really, unless it waits for a lock of a transaction
 * whose owner waits for its turn: PostgreSQL itself says so. Then the time that it may wait is the simulated one.
 */
export class Turns {
  private waiting: Turn[] = [];
  private readonly stopped = new Set<number>();
  /** How much of each connection has gone to PostgreSQL and has not come back. */
  private readonly onTheWay = new Map<Connected, number>();
  /** The statements that wait for a lock, since when, and whether within a transaction. */
  private blocked = new Map<number, { since: number; most: number }>();
  private onAnswer: () => void = () => undefined;
  private monitor: Query = () => Promise.reject(new Error('There is no connection to ask over.'));

  constructor(private readonly time: SimulatedTime) {
    // Both are called as methods of the client that they are put into.
    const client = Client.prototype as unknown as Record<'query' | 'connect', (...args: unknown[]) => unknown>;
    const { query } = client;
    this.ask = (over) => (this.monitor = query.bind(over) as Query);
    for (const name of ['query', 'connect'] as const) client[name] = this.counted(client[name]);
  }

  /** PostgreSQL is asked over this connection what its statements wait for. */
  readonly ask: (over: Client) => void;

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

  /** A statement that would have waited too long for a lock before that time is refused by PostgreSQL. */
  async expire(at: number): Promise<void> {
    const late = [...this.blocked].filter(([, { since, most }]) => since + most <= at);
    if (late.length === 0) return;
    await this.monitor('SELECT pg_cancel_backend(pid) FROM unnest($1::int[]) AS pid', [late.map(([pid]) => pid)]);
    for (const [pid] of late) this.blocked.delete(pid);
    await this.quiet();
  }

  /** Whether something was answered in a moment of real time. */
  private isAnswered(): Promise<boolean> {
    return new Promise((resolve) => {
      const limit = setRealTimeout(() => resolve(false), LOOK_MS);
      this.onAnswer = () => {
        clearRealTimeout(limit);
        resolve(true);
      };
    });
  }

  /** Whether all that has no answer waits, in the end, for transactions whose owners do nothing at this moment. */
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
    // Statements that were answered meanwhile, or sent, are looked at again.
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

  /** The statements that PostgreSQL has not answered. */
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
