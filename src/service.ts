import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { createApp, listen } from './app.js';
import { Config } from './config.js';
import { startEmbeddedPostgres } from './platform/embedded-postgres/embedded-postgres.js';
import { isAlive } from './platform/embedded-postgres/os-process.js';
import { migrate } from './platform/database/migrate.js';
import { Metrics } from './platform/observability/metrics.js';
import { Readiness } from './platform/observability/readiness.js';
import { assertSandboxFits } from './sandbox-database.js';
import { ensureExamples, ensureSandbox, type Sandbox } from './sandbox.js';

const EMBEDDED_DATABASE = 'candidate_eligibility';
/**
 * The interval, in milliseconds, at which idle connections are closed during shutdown while the last requests are still
 * running.
 */
const UNUSED_CLOSED_MS = 100;

/** A running service, with its addresses and the function that stops it. */
export interface Service {
  readonly app: NestExpressApplication;
  readonly config: Config;
  readonly metricsUrl: string;
  /** The files with the sandbox's credentials; null if this service is not a sandbox. */
  readonly sandbox: Sandbox | null;
  stop(): Promise<void>;
}

interface OpenDatabase {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Starts the parts of the service in this order:
 *
 * 1. The database, which is the database in `DATABASE_URL` or, without this setting, the embedded PostgreSQL. The
 *    `SANDBOX` setting must be true if the database belongs to a sandbox, and false if it does not.
 * 2. The migrations of the database's schema.
 * 3. The application, which then listens for requests.
 * 4. The listener for metrics.
 * 5. The data of the sandbox, if the service is a sandbox.
 * 6. The file `server.json`, which shows that the service has started.
 *
 * @param onDatabaseLost called when the embedded PostgreSQL died and could not be restarted
 */
export async function startService(config: Config, onDatabaseLost: (error: Error) => void): Promise<Service> {
  mkdirSync(config.process.dataDir, { recursive: true });
  const serverFile = join(config.process.dataDir, 'server.json');
  removeServerFile(serverFile);
  const database = await openDatabase(config, onDatabaseLost);
  let app: NestExpressApplication | null = null;
  try {
    await assertSandboxFits(config, database.url);
    await migrate(database.url, {
      waitS: config.database.migrationWaitS,
      seesReplication: config.notifications.confirmReplicated > 0 && config.process.roles.has('delivery'),
    });
    app = await createApp(config, database.url);
    const readiness = app.get(Readiness);
    readiness.starting();
    await listen(app, config);
    const metrics = app.get(Metrics);
    const metricsUrl = await metrics.listen();
    const sandbox = config.process.sandbox ? await ensureSandbox(app, config) : null;
    if (sandbox !== null) await ensureExamples(app, config, sandbox);
    writeFileSync(
      serverFile,
      JSON.stringify({
        pid: process.pid,
        base_url: config.http.baseUrl,
        metrics_url: metricsUrl,
        started_at: new Date().toISOString(),
      }) + '\n',
    );
    readiness.started();
    return {
      app,
      config,
      metricsUrl,
      sandbox,
      stop: () => stop(app!, config, metrics, database, serverFile),
    };
  } catch (error) {
    app?.get(Metrics).close();
    await app?.close().catch(() => undefined);
    await database.close();
    throw error;
  }
}

/**
 * Opens the configured database or, if none is configured, the embedded PostgreSQL. If an embedded server is already
 * running, that server is used; otherwise, a new server is started.
 */
export async function openDatabase(config: Config, onLost: (error: Error) => void): Promise<OpenDatabase> {
  if (config.database.url !== null) return { url: config.database.url, close: () => Promise.resolve() };
  const embedded = await startEmbeddedPostgres({
    dataDir: config.process.dataDir,
    database: EMBEDDED_DATABASE,
    onLost,
  });
  return { url: embedded.url, close: () => embedded.stop() };
}

/**
 * Stops the service. Running requests end first, because the event bus stops delivering as soon as Nest begins to
 * close. Events that running commands raise after that would wait in the outbox until the next start.
 */
async function stop(
  app: NestExpressApplication,
  config: Config,
  metrics: Metrics,
  database: OpenDatabase,
  serverFile: string,
): Promise<void> {
  app.get(Readiness).stop();
  const server = app.getHttpServer();
  const drained = new Promise<void>((resolve) => server.close(() => resolve()));
  // A connection becomes idle when the response to its running request has been sent.
  const unused = setInterval(() => server.closeIdleConnections(), UNUSED_CLOSED_MS);
  const grace = setTimeout(() => server.closeAllConnections(), config.process.shutdownGraceMs);
  await drained;
  clearInterval(unused);
  clearTimeout(grace);
  await app.close();
  metrics.close();
  await database.close();
  removeServerFile(serverFile);
}

/**
 * Removes the file `server.json` unless it describes another process that is running. Several processes may share a
 * data folder. The file then describes the process that started last.
 */
function removeServerFile(file: string): void {
  const pid = pidIn(file);
  if (pid === undefined || pid === process.pid || !isAlive(pid)) rmSync(file, { force: true });
}

/** Returns the process id in `server.json`; undefined if the file does not exist or was not written completely. */
function pidIn(file: string): number | undefined {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as { pid?: number }).pid;
  } catch {
    return undefined;
  }
}
