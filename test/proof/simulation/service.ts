import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { INestApplicationContext } from '@nestjs/common';
import { CommandBus, type Command } from '@nestjs/cqrs';
import type { Response } from 'express';
import pg from 'pg';
import { createApp } from '../../../src/app.js';
import { Config } from '../../../src/config.js';
import { startEmbeddedPostgres } from '../../../src/platform/embedded-postgres/embedded-postgres.js';
import { currentTransaction, Database, type Statement } from '../../../src/platform/database/database.js';
import { migrate } from '../../../src/platform/database/migrate.js';
import { DeliverySignals } from '../../../src/notifications/delivery-signals.js';
import { PartnerClient } from '../../../src/notifications/partner/partner-client.js';
import type { PollAnswer, PollBody } from '../../../src/notifications/partner-side/poll.dto.js';
import { Polls } from '../../../src/notifications/partner-side/poll.js';
import { inTheNameOf, requestContext } from '../../../src/platform/context/request-context.js';
import { Hints } from '../../../src/platform/unit-of-work/hints.js';
import { UnitOfWork } from '../../../src/platform/unit-of-work/unit-of-work.js';
import type { Caller } from '../../../src/platform/context/caller.js';
import { processOf, type SimulatedTime } from './simulated-time.js';
import type { SimulatedPartners } from './partners.js';
import type { Chance, FairSemaphore } from './turns.js';

/**
 * The conditions that the seed determines: random numbers, partners and database faults. The simulated processes run
 * under these conditions.
 */
export interface Surroundings {
  chance: Chance;
  partners: SimulatedPartners;
  /**
   * The probability that the database refuses a statement. It is also the probability that the response to a statement
   * is lost.
   */
  databaseFaults: number;
  running: boolean;
}

/**
 * The caller of operators' commands. Without a caller, a command has no access to any account, and therefore finds
 * neither subscriptions nor notifications.
 */
const OPERATOR: Caller = {
  username: 'simulated',
  consumerKey: 'simulated',
  scopes: new Set(['admin']),
  accountCodes: new Set(),
  subscriptionIds: new Set(),
  isOperator: true,
};

/**
 * SQL: creates a schema with simulated functions for the time. PostgreSQL searches this schema before pg_catalog, so
 * that every statement reads the simulated clock.
 */
const CLOCK = [
  'CREATE SCHEMA simulated',
  'CREATE TABLE simulated.clock (now timestamptz NOT NULL)',
  'INSERT INTO simulated.clock VALUES (pg_catalog.now())',
  ...['clock_timestamp', 'statement_timestamp', 'transaction_timestamp', 'now'].map(
    (name) =>
      `CREATE FUNCTION simulated.${name}() RETURNS timestamptz LANGUAGE sql STABLE AS 'SELECT now FROM simulated.clock'`,
  ),
  // In the simulation, set_config has no effect. PostgreSQL's timeouts would use real time, so turns.ts simulates them.
  `CREATE FUNCTION simulated.set_config(name text, value text, local boolean) RETURNS text LANGUAGE sql
     AS 'SELECT value'`,
];

/** Two processes of the service on one real PostgreSQL with simulated time. */
export class SimulatedService {
  private constructor(
    readonly apps: readonly INestApplicationContext[],
    readonly control: pg.Client,
    private readonly stop: () => Promise<void>,
  ) {}

  static async start(time: SimulatedTime, turns: FairSemaphore, around: Surroundings): Promise<SimulatedService> {
    const folder = mkdtempSync(join(tmpdir(), 'simulation-'));
    const ends: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
    const stop = async () => {
      for (const end of ends.toReversed()) await end();
    };
    try {
      chmodSync(folder, 0o755);
      const fast = { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off' };
      // These settings make the server deterministic. It has no background work, and no plans that depend on earlier
      // executions.
      const steady = { autovacuum: 'off', plan_cache_mode: 'force_generic_plan', deadlock_timeout: '10ms' };
      const settings = { ...fast, ...steady };
      const server = await startEmbeddedPostgres({ dataDir: folder, database: 'simulation', settings });
      ends.push(() => server.stop());
      const [control, monitor] = [0, 1].map(() => new pg.Client({ connectionString: server.url }));
      ends.push(() => Promise.all([control.end(), monitor.end()]));
      await Promise.all([control.connect(), monitor.connect()]);
      turns.ask(monitor);
      for (const statement of CLOCK) await control.query(statement);
      await control.query('ALTER DATABASE simulation SET search_path = public, simulated, pg_catalog');
      await migrate(server.url);
      await control.query(`CREATE OR REPLACE FUNCTION analyse_grown_tables() RETURNS int LANGUAGE sql AS 'SELECT 0'`);
      await control.query(`CREATE OR REPLACE FUNCTION doubt_empty_deliveries() RETURNS void LANGUAGE sql AS ''`);
      time.install();
      // Real time is restored before anything is stopped, because stopping relies on timers.
      ends.push(() => time.end());
      const apps = [
        await start(0, folder, server.url, turns, around),
        await start(1, folder, server.url, turns, around),
      ];
      carryMessages(apps, turns, around);
      time.fixChance();
      return new SimulatedService(apps, control, stop);
    } catch (error) {
      await stop();
      throw error;
    }
  }

  /** Executes an operator's command. The first process executes it, unless another process is given. */
  execute<Result>(command: Command<Result>, process = 0): Promise<Result> {
    return processOf.run(process, () =>
      inTheNameOf(OPERATOR, null, () => this.apps[process].get(CommandBus, { strict: false }).execute(command)),
    );
  }

  /** Sends a poll of a partner to a process. */
  poll(
    process: number,
    consumerKey: string,
    subscriptionId: string,
    body: PollBody,
    connection: object,
  ): Promise<PollAnswer> {
    const caller: Caller = { ...OPERATOR, consumerKey, scopes: new Set(['partner']), isOperator: false };
    return processOf.run(process, () =>
      inTheNameOf(caller, null, () => {
        requestContext().partnerAccess = { accountCodes: [], subscriptionIds: [subscriptionId] };
        return this.apps[process].get(Polls, { strict: false }).answer(body, caller, connection as Response);
      }),
    );
  }

  async setClock(now: Date): Promise<void> {
    await this.control.query('UPDATE simulated.clock SET now = $1', [now]);
  }

  async rows(text: string, values: unknown[] = []): Promise<Record<string, any>[]> {
    return (await this.control.query<Record<string, any>>(text, values)).rows;
  }

  end(): Promise<void> {
    return this.stop();
  }
}

async function start(
  process: number,
  folder: string,
  databaseUrl: string,
  turns: FairSemaphore,
  around: Surroundings,
): Promise<INestApplicationContext> {
  const config = new Config({
    DATABASE_URL: databaseUrl,
    DATA_DIR: folder,
    SECRETS_KEY: Buffer.alloc(32, 7).toString('base64'),
    PORT: '0',
    HOST: '127.0.0.1',
    METRICS_PORT: '0',
    LOG_LEVEL: 'silent',
    PARTNER_ALLOWED_NETWORKS: '127.0.0.0/8',
    RETRY_SCHEDULE_S: '1,2,4',
    BASE_URL: 'http://localhost',
  });
  const app = await processOf.run(process, () => createApp(config, databaseUrl));
  app.get(PartnerClient).put = (endpoint, headers, body, mayBegin) =>
    around.partners.put(endpoint, headers, String(body), mayBegin!);
  hinder(app.get(Database), turns, around);
  return app;
}

/** Makes every statement and its response wait for a turn. Some statements are refused, and some responses are lost. */
function hinder(database: Database, turns: FairSemaphore, around: Surroundings): void {
  const lost = () => Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' });
  const around_ = <T>(work: (statement: Statement, values?: unknown[]) => Promise<T>) =>
    async function (statement: Statement, values?: unknown[]): Promise<T> {
      if (!around.running) return work(statement, values);
      const name = statement.name ?? statement.text;
      await turns.wait(name);
      const alone = currentTransaction.current === undefined || currentTransaction.current === null;
      if (around.chance.hits(around.databaseFaults)) throw lost();
      const answer = await work(statement, values);
      await turns.wait(`${name} is answered`);
      if (alone && around.chance.hits(around.databaseFaults)) {
        around.partners.disturbed = true;
        throw lost();
      }
      return answer;
    };
  database.query = around_(database.query.bind(database)) as typeof database.query;
  database.execute = around_(database.execute.bind(database));
}

/**
 * Carries the messages between the processes. Each message arrives in its turn or is lost. No real NOTIFY is sent,
 * because it would arrive at a moment that the seed does not determine.
 */
function carryMessages(apps: readonly INestApplicationContext[], turns: FairSemaphore, around: Surroundings): void {
  const carry = async (app: INestApplicationContext, payloads: readonly string[]) => {
    await turns.wait(payloads.join());
    const signals = app.get<DeliverySignals, { hear(payload: string): void }>(DeliverySignals);
    if (!around.chance.hits(around.databaseFaults)) for (const payload of payloads) signals.hear(payload);
  };
  for (const app of apps)
    app.get(Hints).send = (channel, payloads) => {
      if (!around.running || channel !== 'deliveries' || payloads.length === 0) return;
      app.get(UnitOfWork).afterCommit(() => {
        for (const [process, receiver] of apps.entries()) void processOf.run(process, () => carry(receiver, payloads));
      });
    };
}
