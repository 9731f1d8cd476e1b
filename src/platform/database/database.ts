import { isNativeError } from 'node:util/types';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import pg, { Pool, type PoolClient, type QueryResult } from 'pg';
import { DataSource, type EntityManager, type QueryRunner } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { DatabaseConfig } from './database.config.js';
import { ContextValue } from '../context/context-value.js';
import { Logger } from '../observability/logger.js';
import type { FairSemaphore } from '../overload/fair-semaphore.js';
import { isNoConnectionFree, shareFairly } from './fair-connections.js';
import { connectionsFor, LOCK_TIMEOUT_MS, poolConfig } from './connections.js';
import { mayBeRepeated, send } from './statement-retries.js';
import { ServiceClient } from './service-client.js';
import { withSpans } from './statement-spans.js';

// 8-byte integers and decimals are parsed as JavaScript numbers. No precision is lost, because counts and positions
// stay far below 2^53, and amounts have two decimals.
pg.types.setTypeParser(pg.types.builtins.INT8, Number);
pg.types.setTypeParser(pg.types.builtins.NUMERIC, Number);
// Dates are sent in UTC. With a local offset, PostgreSQL would store year 1 as year 0: before time zones existed, local
// offsets had seconds, and the driver sends only whole minutes.
pg.defaults.parseInputDatesAsUTC = true;

/**
 * The SQL expression for the machine's time, which the sandbox's clock does not replace. The expiry of leases is based
 * on this time, so that leases do not expire when the sandbox's clock is moved.
 */
export const MACHINE_TIME = 'transaction_timestamp()';

/**
 * Returns the SQL condition that a lease of at most `seconds` has expired. A lease that would last longer than
 * `seconds` from now was written while the clock was ahead; such a lease counts as expired.
 */
export const hasLapsed = (until: string, seconds: number): string =>
  `(${until} < ${MACHINE_TIME} OR ${until} > ${MACHINE_TIME} + interval '${seconds + CLOCK_SKEW_S} seconds')`;
const CLOCK_SKEW_S = 5;

/**
 * The reasons why an SQL statement on a table with an account column need not be limited to an account. A statement
 * without one of these reasons must be limited (test/architecture/account-bounds.ts lists the ways to do so).
 */
export const acrossAccounts = {
  /**
   * Either the key in the statement comes from a row within the caller's accounts, or the statement finds a row whose
   * account is checked next.
   */
  keyInHand: 'keyInHand',
  /**
   * The statement finds a row by its key and returns the account of the row. The code that runs the statement then
   * checks the account.
   */
  checkedByCaller: 'checkedByCaller',
  /**
   * A subquery of the statement reads rows of several accounts, by an index or by several keys. The outer query keeps
   * only the rows of allowed accounts.
   */
  boundAround: 'boundAround',
  /** The statement serves only operators, who may see every account. */
  operators: 'operators',
  /** The statement deletes or changes expired rows of every account. */
  sweep: 'sweep',
  /**
   * The statement claims background work of any account or records its result: deliveries, jobs, imports or erasures.
   */
  workers: 'workers',
  /** The statement claims domain events of every account for the event bus. */
  relay: 'relay',
  /**
   * The statement counts rows of all accounts together. The console and the metrics show the figures of an account only
   * to users of that account.
   */
  figures: 'figures',
  /**
   * The statement reads or sets the rights of a user or an application, including the accounts that the user or the
   * application may use.
   */
  rights: 'rights',
  /** The statement seals the audit log, which is one chain for all accounts. */
  sealing: 'sealing',
  /** The statement looks for the account or the candidate to which a row without an account belongs. */
  matching: 'matching',
} as const;

export type AcrossAccounts = keyof typeof acrossAccounts;

/**
 * A statement that PostgreSQL parses and plans once per connection. All statements with the same `name` must have the
 * same text.
 */
export interface Statement {
  readonly name?: string;
  readonly text: string;
  readonly across?: AcrossAccounts;
}

const names = new Set<string>();

/** Declares a prepared statement. The name must be unique in the process. */
export function prepared(name: string, text: string, across?: AcrossAccounts): Statement {
  if (names.has(name)) throw new Error(`The statement ${name} is declared twice.`);
  names.add(name);
  return { name, text, across };
}

/**
 * Hides a parameter such as `$1::text[]` from the planner. If the planner sees a short array, it expects few rows and
 * makes a new plan at every execution. Such planning takes longer than the execution itself.
 */
export function unestimated(parameter: string): string {
  return `(SELECT ${parameter})`;
}

/**
 * Returns an SQL condition that every number fulfils, but for which the planner expects few rows. The planner then
 * looks up each key by index, even if it assumes that the table is small. After a table was vacuumed while empty,
 * PostgreSQL assumes until the next ANALYZE that it is empty. Without the condition, PostgreSQL would scan the whole
 * table for each key.
 */
export function expectingFew(column: string): string {
  return `${column} BETWEEN ${unestimated('0::bigint')} AND ${unestimated('9223372036854775807')}`;
}

/** The database transaction of the current unit of work (unit-of-work.ts). */
export interface Transaction {
  readonly runner: QueryRunner;
  readonly client: PoolClient;
  /** Sends the buffered writes, so that the next query sees their effects. */
  flush(): void;
  /** Records that a statement has written to the database directly, without being buffered. */
  writes(): void;
}

export const currentTransaction = new ContextValue<Transaction>();

/**
 * Runs statements and entity operations. In a unit of work, they run in the transaction of the unit of work. Otherwise,
 * each of them runs in its own transaction.
 */
@Injectable()
export class Database implements OnApplicationShutdown {
  readonly url: string;
  /**
   * The connection pool for statements outside transactions. Units of work and entities use the pool of the data source
   * (connections.ts).
   */
  readonly pool: Pool;
  /** The two connection pools. Each pool has its own fair queue, in which requests wait for a connection. */
  readonly pools: Readonly<Record<'statements' | 'units_of_work', { pool: Pool; semaphore: FairSemaphore }>>;

  constructor(
    readonly dataSource: DataSource,
    config: DatabaseConfig,
    logger: Logger,
  ) {
    this.url = (dataSource.options.extra as { connectionString: string }).connectionString;
    this.pool = new Pool({
      ...poolConfig(this.url, { lock_timeout: `${LOCK_TIMEOUT_MS}ms` }),
      max: connectionsFor(config.poolSize).statements,
    });
    withSpans(this.pool);
    const ofUnits = (dataSource.driver as PostgresDriver).master as Pool;
    this.pools = {
      statements: { pool: this.pool, semaphore: shareFairly(this.pool) },
      units_of_work: { pool: ofUnits, semaphore: shareFairly(ofUnits) },
    };
    for (const { pool } of Object.values(this.pools))
      pool.on('release', (_, client) => {
        if (client instanceof ServiceClient && client.isReadOnly) client.end().catch(() => undefined);
      });
    // Without an error handler on the pool, the loss of an idle connection would end the process. The pool opens a new
    // connection for the next statement.
    this.pool.on('error', (error) => logger.warn({ err: error }, 'a connection to the database was lost'));
  }

  async onApplicationShutdown(): Promise<void> {
    await this.pool.end();
  }

  /** Returns TypeORM's entity manager. Use it in code in which clarity matters more than speed. */
  get manager(): EntityManager {
    const transaction = currentTransaction.current;
    transaction?.flush();
    transaction?.writes();
    return transaction?.runner.manager ?? this.dataSource.manager;
  }

  async query<Row extends object>(statement: Statement, values: unknown[] = []): Promise<Row[]> {
    return (await this.run<Row>(statement, values)).rows;
  }

  async queryOne<Row extends object>(statement: Statement, values: unknown[] = []): Promise<Row | null> {
    return (await this.query<Row>(statement, values))[0] ?? null;
  }

  /** Runs the statement, and returns the number of rows that it changed. */
  async execute(statement: Statement, values: unknown[] = []): Promise<number> {
    currentTransaction.current?.writes();
    return (await this.run(statement, values)).rowCount ?? 0;
  }

  private run<Row extends object>(statement: Statement, values: unknown[]): Promise<QueryResult<Row>> {
    return send<Row>(this.executor, statement, values, currentTransaction.current !== undefined);
  }

  private get executor(): Pool | PoolClient {
    const transaction = currentTransaction.current;
    transaction?.flush();
    return transaction?.client ?? this.pool;
  }
}

/** Returns the name of the constraint that the statement violated (SQLSTATE class 23); null for any other error. */
export function violatedConstraint(error: unknown): string | null {
  const { code, constraint } = error as { code?: unknown; constraint?: unknown };
  return typeof code === 'string' && code.startsWith('23') && typeof constraint === 'string' ? constraint : null;
}

const LOST_CONNECTION = new Set([
  'EAI_AGAIN',
  'ECONNABORTED',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EPIPE',
  'ETIMEDOUT',
]);
const LOST_CONNECTION_MESSAGES =
  /Connection terminated|connection timeout|timeout expired|timeout exceeded when trying to connect|Query read timeout|not queryable|Cannot use a pool after calling end|Driver not Connected|Client was closed/i;

/**
 * Returns whether the statement exceeded its time limit or its lock timeout. Such a statement may succeed under less
 * load.
 */
export function isTimedOut(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return code === '57014' || code === '55P03' || message === 'Query read timeout';
}

/** Returns whether the transaction may succeed if it is retried, immediately or later. */
export function mustBeDoneAgain(error: unknown): boolean {
  return isDatabaseUnavailable(error) || mayBeRepeated(error);
}

const ALSO_UNAVAILABLE: ReadonlySet<string> = new Set(['25006', '55P03', '58030']);

/**
 * Returns whether the error means that the database is unavailable or overloaded; false if the statement itself is
 * faulty.
 */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (!isNativeError(error)) return false;
  if (isNoConnectionFree(error)) return true;
  const driverError = (error as { driverError?: unknown }).driverError;
  if (driverError !== undefined && driverError !== error) return isDatabaseUnavailable(driverError);
  const { errors } = error as Partial<AggregateError>;
  if (errors !== undefined) return errors.some(isDatabaseUnavailable);
  const code = (error as { code?: unknown }).code;
  if (typeof code === 'string') {
    // The SQLSTATE classes and codes of an unavailable database: 08 connection, 28 authorization, 53 resources, 57
    // operator intervention (shutdown, crash, cancel by timeout), 58030 io_error and 25006 read_only_sql_transaction.
    if (LOST_CONNECTION.has(code) || /^(08|28|53|57)/.test(code) || ALSO_UNAVAILABLE.has(code)) return true;
  }
  return LOST_CONNECTION_MESSAGES.test(error.message);
}
