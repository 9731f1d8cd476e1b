import { setTimeout as pause } from 'node:timers/promises';
import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import type pg from 'pg';
import { Clock } from '../platform/clock.js';
import { Database, prepared } from '../platform/database/database.js';
import { Listener } from '../platform/database/listener.js';
import { validationError } from '../platform/errors.js';
import { Logger } from '../platform/observability/logger.js';
import { Hints } from '../platform/unit-of-work/hints.js';
import { UnitOfWork } from '../platform/unit-of-work/unit-of-work.js';
import { clockFunctions } from './clock-schema.js';
import { clockBackwards, clockTooFar } from './sandbox.errors.js';

const CHANNEL = 'sandbox_clock';
/** The class id of the advisory locks. Each process holds the lock for the generation of the clock that it uses. */
const LOCKS = 7_031_948;
const ASK_AGAIN_MS = 10;
/**
 * The maximum time, in milliseconds, for which a move of the clock waits for all processes. A process that needs longer
 * is blocked, or has lost its connection to the database.
 */
const LONGEST_WAIT_MS = 2_000;

// The SQL that computes the new time of the sandbox. The time functions in the sandbox's schema cannot be used here,
// because they still return the old time.
const MOMENT = `generation, ahead_ms, pg_catalog.now() + ahead_ms * interval '1 millisecond' AS moment`;
const ADVANCE = prepared(
  'sandbox-clock-advance',
  `UPDATE sandbox.clock SET ahead_ms = ahead_ms + $1::bigint * 1000, generation = generation + 1 RETURNING ${MOMENT}`,
);
// Sets the sandbox's clock to a later time, or to the second that the clock currently shows.
const SET = prepared(
  'sandbox-clock-set',
  `UPDATE sandbox.clock SET generation = generation + 1,
     ahead_ms = greatest(ahead_ms, ceil(extract(epoch FROM $1::timestamptz - pg_catalog.now()) * 1000)::bigint)
   WHERE date_trunc('second', pg_catalog.now() + ahead_ms * interval '1 millisecond') <= $1 RETURNING ${MOMENT}`,
);
const ANOTHER_TIME = prepared(
  'sandbox-clock-another-time',
  `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND classid = ${LOCKS} AND objid::bigint < $1 AND granted
     AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) LIMIT 1`,
);

const LATEST = new Date('9000-01-01T00:00:00Z');

export type Move = { advanceS: number } | { to: Date };

/**
 * The sandbox's clock, shared by all its processes and stored in the database (clock-schema.ts).
 *
 * 1. Each process listens for clock moves on its own connection. On this connection, it holds a shared lock whose key
 *    is the generation of the clock that the process uses.
 * 2. A move is one transaction. It writes the clock's row, the SQL time functions, everything that must exist before
 *    the new time begins, and the audit entry. A NOTIFY is sent after the commit. A process that misses the NOTIFY
 *    reads the clock's row at the next poll of its listener.
 * 3. The response to the move is sent once no process holds the lock of an older generation. From then on, every
 *    process and every statement uses the new time.
 */
@Injectable()
export class SandboxClock implements OnModuleInit, OnApplicationBootstrap, OnApplicationShutdown {
  private readonly listener: Listener;
  private generation = 0;
  private isStarting = true;
  private following: Promise<void> = Promise.resolve();
  private caughtUp: Promise<void> = Promise.resolve();

  constructor(
    private readonly clock: Clock,
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly hints: Hints,
    private readonly logger: Logger,
  ) {
    this.listener = new Listener(database.url, CHANNEL, {
      notified: (_, client) => this.follow(client),
      asked: (client) => this.follow(client),
      listening: (client) => {
        this.generation = 0;
        this.follow(client);
        return this.following;
      },
      failed: (error) => logger.warn({ err: error }, 'the connection that follows the clock failed; reconnecting'),
    });
  }

  /** Reads the sandbox's clock before other parts of the application ask for the time. */
  async onModuleInit(): Promise<void> {
    await this.listener.open();
  }

  onApplicationBootstrap(): void {
    this.isStarting = false;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.following;
    await this.listener.close();
  }

  /**
   * Moves the sandbox's clock.
   * @returns the new time
   * @throws DomainError validation_error when the clock would be set back, or beyond the year 8999
   */
  async move(move: Move): Promise<Date> {
    const { generation, moment } = await this.unitOfWork.run(async () => {
      const [statement, value] = 'to' in move ? [SET, move.to] : [ADVANCE, move.advanceS];
      const moved = await this.database.queryOne<{ generation: number; ahead_ms: number; moment: Date }>(statement, [
        value,
      ]);
      if (moved === null) throw validationError.error({ errors: [clockBackwards(this.clock.now())] });
      // The requested time and the computed time are both compared with the maximum. The computed time may be wrong by
      // some microseconds if PostgreSQL's interval is very long.
      if (moved.moment >= LATEST || ('to' in move && move.to >= LATEST))
        throw validationError.error({ errors: [clockTooFar('to' in move ? '/now' : '/advance_s')] });
      for (const text of clockFunctions(moved.ahead_ms)) await this.database.query({ text });
      await this.clock.prepare();
      this.hints.send(CHANNEL, ['']);
      this.unitOfWork.afterCommit(() => this.listener.ask());
      this.unitOfWork.audit('sandbox.clock', 'clock', { accountCode: null });
      return moved;
    });
    const giveUpAt = performance.now() + LONGEST_WAIT_MS;
    const isLate = () => performance.now() > giveUpAt;
    while (this.generation < generation && !isLate()) await pause(ASK_AGAIN_MS);
    while ((await this.database.queryOne(ANOTHER_TIME, [generation])) !== null && !isLate()) await pause(ASK_AGAIN_MS);
    await Promise.race([this.caughtUp, pause(Math.max(0, giveUpAt - performance.now()), undefined, { ref: false })]);
    return moment;
  }

  /** Reads the sandbox's clock from the database. Reads run one after another. */
  private follow(client: pg.Client): void {
    this.following = this.following
      .then(() => this.read(client))
      .catch((error: unknown) => {
        this.logger.warn({ err: error }, 'the clock could not be read; trying again');
        this.listener.lose(client);
      });
  }

  private async read(client: pg.Client): Promise<void> {
    const { rows } = await client.query<{ ahead_ms: number; generation: number }>(
      'SELECT ahead_ms, generation FROM sandbox.clock',
    );
    const [{ ahead_ms, generation }] = rows;
    if (generation === this.generation) return;
    // While the application starts, the clock is set without the follow-up work of a move, because this work uses query
    // handlers that are not registered yet.
    if (this.isStarting) this.clock.startAt(ahead_ms);
    else this.caughtUp = this.clock.moveTo(ahead_ms);
    await client.query('SELECT pg_advisory_lock_shared($1, $2)', [LOCKS, generation]);
    if (this.generation > 0) await client.query('SELECT pg_advisory_unlock_shared($1, $2)', [LOCKS, this.generation]);
    this.generation = generation;
  }
}
