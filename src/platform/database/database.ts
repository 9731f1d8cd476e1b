import { isNativeError } from 'node:util/types';
import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import pg, { Pool, type PoolClient } from 'pg';
import { DataSource, type EntityManager, type QueryRunner } from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { Config } from '../../config.js';
import { ContextValue } from '../context/context-value.js';
import { Logger } from '../observability/logger.js';
import type { Turns } from '../overload/turns.js';
import { isNoConnectionFree, takeTurns } from './connection-turns.js';
import { connectionsFor, LOCK_TIMEOUT_MS, poolConfig } from './connections.js';
import { ServiceClient } from './service-client.js';
import { withSpans } from './statement-spans.js';

// Counts and positions stay far below 2^53; amounts have two decimals.
pg.types.setTypeParser(pg.types.builtins.INT8, Number);
pg.types.setTypeParser(pg.types.builtins.NUMERIC, Number);
// With a local offset, of which PostgreSQL takes whole minutes only before time zones were railway time, year 1 becomes year 0.
pg.defaults.parseInputDatesAsUTC = true;

/**
 * SQL: the time of the machine, by a name that the sandbox's clock leaves alone. For leases and claims: who moves the clock
 * does not make them lapse.
 */
export const MACHINE_TIME = 'transaction_timestamp()';

/**
 * SQL: a lease of so many seconds at most, which ends then, has lapsed. One that ends later than any could was given by a clock that was
 * ahead, and has since been set right.
 */
export const hasLapsed = (until: string, seconds: number): string =>
  `(${until} < ${MACHINE_TIME} OR ${until} > ${MACHINE_TIME} + interval '${seconds + CLOCK_SKEW_S} seconds')`;
const CLOCK_SKEW_S = 5;

/**
 * Why a statement on a table with an account does not bound the account. A statement that names no reason must bound it
 * (test/architecture/account-bounds.ts says by what); one that bounds it names none.
 */
export const acrossAccounts = {
  /** The key comes from a row that the caller has read within its bound, or leads to the row that it checks next. */
  keyInHand: 'keyInHand',
  /** Reads by key and answers with the account, which the caller compares with the accounts that may be reached. */
  checkedByCaller: 'checkedByCaller',
  /** Reads more than is wanted, by an index or by several keys; the query around it keeps the rows of bound ones. */
  boundAround: 'boundAround',
  /** Serves an operator, whom no account bounds. */
  operators: 'operators',
  /** Deletes or changes rows of every account as time passes. */
  sweep: 'sweep',
  /** Claims or records work of whichever account is next: the delivery loop, jobs, imports, erasures. */
  workers: 'workers',
  /** Claims domain events of every account for the event bus. */
  relay: 'relay',
  /** Counts for every account at once; the console and the metrics give each account's figures to those who may see them. */
  figures: 'figures',
  /** Reads or sets which accounts a user may reach. */
  rights: 'rights',
  /** Seals the audit log, which is one chain for all accounts. */
  sealing: 'sealing',
  /** Looks for what may belong to an account, or be about its candidate, in rows that name no account. */
  matching: 'matching',
} as const;

export type AcrossAccounts = keyof typeof acrossAccounts;

/** A statement that PostgreSQL parses and plans once for each connection: `name` must belong to one text only. */
export interface Statement {
  readonly name?: string;
  readonly text: string;
  readonly across?: AcrossAccounts;
}

const names = new Set<string>();

/** Declares a prepared statement. Names are unique in the process. */
export function prepared(name: string, text: string, across?: AcrossAccounts): Statement {
  if (names.has(name)) throw new Error(`The statement ${name} is declared twice.`);
  names.add(name);
  return { name, text, across };
}

/**
 * A parameter such as `$1::text[]` that the planner does not see. Of a short array it expects fewer rows
 * than of an unknown one, finds a plan for just these values cheaper and makes one at every execution: for the record of
 * a delivery that is two thirds of PostgreSQL's time.
 */
export function opaque(parameter: string): string {
  return `(SELECT ${parameter})`;
}

/**
 * Every number of `column`, of which the planner expects few. It then looks up each of a batch by its key, however small it
 * believes the table to be: what was vacuumed when it was empty counts as empty until it is analysed, and of such a table the
 * planner would read all for each of the batch.
 */
export function fewOf(column: string): string {
  return `${column} BETWEEN ${opaque('0::bigint')} AND ${opaque('9223372036854775807')}`;
}

/** The transaction of the running unit of work (unit-of-work.ts). */
export interface Transaction {
  readonly runner: QueryRunner;
  readonly client: PoolClient;
  /** Sends what was kept to be written: what is asked after it sees it. */
  flush(): void;
  /** Told of a statement that writes at once. */
  writes(): void;
}

export const currentTransaction = new ContextValue<Transaction>();

/** Statements and entities: inside the transaction of the running unit of work, else each by itself. */
@Injectable()
export class Database implements OnApplicationShutdown {
  readonly url: string;
  /** For statements of no transaction; units of work and entities have the data source's (connections.ts). */
  readonly pool: Pool;
  /** The pools, and who waits for a connection of each. */
  readonly pools: Readonly<Record<'statements' | 'units_of_work', { pool: Pool; turns: Turns }>>;

  constructor(
    readonly dataSource: DataSource,
    config: Config,
    logger: Logger,
  ) {
    this.url = (dataSource.options.extra as { connectionString: string }).connectionString;
    this.pool = new Pool({
      ...poolConfig(this.url, { lock_timeout: `${LOCK_TIMEOUT_MS}ms` }),
      max: connectionsFor(config.databasePoolSize).statements,
    });
    withSpans(this.pool);
    const ofUnits = (dataSource.driver as PostgresDriver).master as Pool;
    this.pools = {
      statements: { pool: this.pool, turns: takeTurns(this.pool) },
      units_of_work: { pool: ofUnits, turns: takeTurns(ofUnits) },
    };
    for (const { pool } of Object.values(this.pools))
      pool.on('release', (_, client) => {
        if (client instanceof ServiceClient && client.isReadOnly) client.end().catch(() => undefined);
      });
    // Without a listener, an idle connection that is lost would end the process; the next statement opens another.
    this.pool.on('error', (error) => logger.warn({ err: error }, 'a connection to the database was lost'));
  }

  async onApplicationShutdown(): Promise<void> {
    await this.pool.end();
  }

  /** TypeORM's entity manager, for the paths where clarity counts more than the last microsecond. */
  get manager(): EntityManager {
    const transaction = currentTransaction.current;
    transaction?.flush();
    transaction?.writes();
    return transaction?.runner.manager ?? this.dataSource.manager;
  }

  async query<Row extends object>(statement: Statement, values: unknown[] = []): Promise<Row[]> {
    const { rows } = await this.executor.query<Row>({ ...statement, values });
    return rows;
  }

  async queryOne<Row extends object>(statement: Statement, values: unknown[] = []): Promise<Row | null> {
    return (await this.query<Row>(statement, values))[0] ?? null;
  }

  /** The number of rows that the statement changed. */
  async execute(statement: Statement, values: unknown[] = []): Promise<number> {
    currentTransaction.current?.writes();
    return (await this.executor.query({ ...statement, values })).rowCount ?? 0;
  }

  private get executor(): Pool | PoolClient {
    const transaction = currentTransaction.current;
    transaction?.flush();
    return transaction?.client ?? this.pool;
  }
}

/** The name of the constraint that PostgreSQL's refusal names (class 23), else null. */
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

/** Whether a statement took too long, or waited too long for a lock: with less to do it may succeed. */
export function isTimedOut(error: unknown): boolean {
  const { code, message } = error as { code?: unknown; message?: unknown };
  return code === '57014' || code === '55P03' || message === 'Query read timeout';
}

/** Deadlock and serialization failure: the transaction was ended for another's sake. */
const ENDED_FOR_ANOTHER = new Set(['40P01', '40001']);

/** Whether the same transaction, done again, may succeed. */
export function mustBeDoneAgain(error: unknown): boolean {
  return isDatabaseUnavailable(error) || ENDED_FOR_ANOTHER.has(String((error as { code?: unknown }).code));
}

const ALSO_UNAVAILABLE: ReadonlySet<string> = new Set(['25006', '55P03', '58030']);

/** Whether the error says that the database is away or overloaded, not that the statement was wrong. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (!isNativeError(error)) return false;
  if (isNoConnectionFree(error)) return true;
  const driverError = (error as { driverError?: unknown }).driverError;
  if (driverError !== undefined && driverError !== error) return isDatabaseUnavailable(driverError);
  const { errors } = error as Partial<AggregateError>;
  if (errors !== undefined) return errors.some(isDatabaseUnavailable);
  const code = (error as { code?: unknown }).code;
  if (typeof code === 'string') {
    // 08 connection, 28 who may connect, 53 resources, 57 operator intervention (shutdown, crash, cancel by timeout), 58030 io error, 25006 read-only
    if (LOST_CONNECTION.has(code) || /^(08|28|53|57)/.test(code) || ALSO_UNAVAILABLE.has(code)) return true;
  }
  return LOST_CONNECTION_MESSAGES.test(error.message);
}
