import 'reflect-metadata';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { createApp, listen } from '../../src/app';
import { Config } from '../../src/config';
import { openApiDocument } from '../../src/openapi/document';
import { ResultReader } from '../../src/results/body/result-reader';
import { Database } from '../../src/platform/database/database';
import { cloneDatabase } from './database';
import { Given } from './given';
import { documentChecker, type Answer, type DocumentChecker } from './openapi-check';

export type { Answer };

// If this file runs as TypeScript source, the worker processes need the TypeScript loader, too.
if (__filename.endsWith('.ts')) ResultReader.execArgv.push('--require', join(__dirname, 'run-typescript.cjs'));

export interface CallOptions {
  token?: string;
  /** The body of the request. A string or a Buffer is sent unchanged, and any other body as JSON. */
  body?: unknown;
  headers?: Record<string, string>;
  redirect?: 'manual' | 'follow';
}

/** The application with real HTTP and its own database. Every response is checked against the OpenAPI document. */
export class TestApp {
  readonly given: Given;
  private readonly checker: DocumentChecker;

  constructor(
    readonly app: NestExpressApplication,
    readonly config: Config,
    readonly databaseUrl: string,
    private readonly release: () => Promise<void>,
  ) {
    this.given = new Given(this);
    this.checker = checkerOf(app, config);
  }

  get url(): string {
    return this.config.http.baseUrl;
  }

  get database(): Database {
    return this.app.get(Database);
  }

  async call(method: string, path: string, options: CallOptions = {}): Promise<Answer> {
    const { token, body, headers = {}, redirect = 'manual' } = options;
    const raw = typeof body === 'string' || Buffer.isBuffer(body);
    const response = await fetch(this.url + path, {
      method,
      redirect,
      headers: {
        ...(body !== undefined ? { 'content-type': 'application/json' } : {}),
        ...(token ? { authorization: `Bearer ${token}` } : {}),
        ...headers,
      },
      body: body === undefined ? undefined : raw ? (body as string) : JSON.stringify(body),
    });
    const text = await response.text();
    const answer = { status: response.status, headers: response.headers, body: parse(text), text };
    this.checker.check(method, path, answer);
    return answer;
  }

  async close(): Promise<void> {
    await this.app.close();
    await this.release();
  }
}

const CHECKERS = Symbol.for('checkers of the OpenAPI document');

/**
 * Returns the checker of responses for an application. Building the OpenAPI document takes as long as starting the
 * application, and the document depends only on a few settings. All test files of a worker therefore share the
 * checkers, which are kept in a global variable.
 */
function checkerOf(app: NestExpressApplication, config: Config): DocumentChecker {
  const shared = globalThis as { [CHECKERS]?: Map<string, DocumentChecker> };
  const checkers = (shared[CHECKERS] ??= new Map<string, DocumentChecker>());
  const key = JSON.stringify([
    process.env['TEST_POSTGRES_URL'],
    config.http.publicUrl,
    config.http.basePath,
    config.process.sandbox,
  ]);
  let checker = checkers.get(key);
  if (!checker) checkers.set(key, (checker = documentChecker(openApiDocument(app, config))));
  return checker;
}

export interface StartOptions {
  env?: Record<string, string>;
  /** The URL of a database that this application shares with another application. */
  databaseUrl?: string;
}

/**
 * Starts two processes that share a database and its encryption key. One process answers requests, and the other
 * delivers notifications.
 */
export async function startPair(env: Record<string, string> = {}): Promise<{ api: TestApp; delivery: TestApp }> {
  const shared = { SECRETS_KEY: randomBytes(32).toString('base64'), ...env };
  const api = await startApp({ env: { ...shared, ROLES: 'api' } });
  const delivery = await startApp({ databaseUrl: api.databaseUrl, env: { ...shared, ROLES: 'delivery' } });
  return { api, delivery };
}

export async function startApp({ env = {}, databaseUrl }: StartOptions = {}): Promise<TestApp> {
  const dataDir = mkdtempSync(join(tmpdir(), 'eligibility-app-'));
  const database = databaseUrl ? { url: databaseUrl, drop: () => Promise.resolve() } : await cloneDatabase();
  const config = new Config({
    DATABASE_URL: database.url,
    DATA_DIR: dataDir,
    SECRETS_KEY: randomBytes(32).toString('base64'),
    PORT: '0',
    HOST: '127.0.0.1',
    METRICS_PORT: '0',
    LOG_LEVEL: 'fatal',
    RATE_LIMIT_PER_MINUTE: '0',
    TOKEN_RATE_LIMIT_PER_MINUTE: '0',
    PARTNER_ALLOWED_NETWORKS: '127.0.0.0/8,::1/128',
    RETRY_SCHEDULE_S: '0.2,0.5,1',
    ...env,
  });
  const app = await createApp(config, database.url);
  await listen(app, config);
  return new TestApp(app, config, database.url, async () => {
    await database.drop();
    rmSync(dataDir, { recursive: true, force: true });
  });
}

function parse(text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
