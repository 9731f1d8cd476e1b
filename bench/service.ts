import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { ReceiverReady } from './receiver.js';
import type { Scene } from './scene.js';
import { clearEligibilities, clearNotifications } from './seed.js';

const READY_WITHIN_MS = 60_000;

interface Login {
  consumer_key: string;
  consumer_secret: string;
  username: string;
  password: string;
}

interface Sandbox {
  account_code: string;
  client: Login;
  operator: Login;
  tests: { test_code: string; portions: { portion_code: string }[] }[];
  schools: { school_code: string }[];
  accommodations: { accommodation_code: string; requires_approval: boolean }[];
  attribute_keys: { attribute_key: string }[];
}

/** The service in a separate process, with everything enabled except the rate limits. */
export class BenchedService {
  private constructor(
    private readonly child: ChildProcess,
    private readonly dataDir: string,
    /** The seconds from the start of the process to the first 200 response from `/health/ready`. */
    readonly readyAfterS: number,
  ) {}

  /**
   * Starts the service in a separate process.
   * @param databaseUrl the database of the service; null if the service is to run its own PostgreSQL in `dataDir`
   */
  static async start(
    dataDir: string,
    databaseUrl: string | null,
    env: Record<string, string> = {},
  ): Promise<BenchedService> {
    mkdirSync(dataDir, { recursive: true });
    const log = openSync(join(dataDir, 'service.log'), 'a');
    const started = performance.now();
    const child = spawn(process.execPath, [...profiling(dataDir), join(__dirname, '../main.js')], {
      env: {
        PATH: process.env['PATH'],
        DATA_DIR: dataDir,
        ...(databaseUrl === null ? {} : { DATABASE_URL: databaseUrl, SANDBOX: 'true' }),
        PORT: '0',
        METRICS_PORT: '0',
        LOG_LEVEL: 'info',
        RATE_LIMIT_PER_MINUTE: '0',
        TOKEN_RATE_LIMIT_PER_MINUTE: '0',
        ...env,
      },
      stdio: ['ignore', log, log],
    });
    closeSync(log);
    const service = new BenchedService(child, dataDir, await readySeconds(child, dataDir, started));
    if (databaseUrl !== null) await clearExamples(databaseUrl);
    return service;
  }

  get pid(): number {
    return this.child.pid!;
  }

  get url(): string {
    return serverOf(this.dataDir).base_url.replace('localhost', '127.0.0.1');
  }

  get scene(): Scene {
    const { account_code, tests, schools, accommodations, attribute_keys } = this.sandbox;
    return {
      accountCode: account_code,
      testCode: tests[0].test_code,
      portionCode: tests[0].portions[0].portion_code,
      schoolCode: schools[0].school_code,
      accommodationCode: accommodations.find((one) => !one.requires_approval)!.accommodation_code,
      attributeKey: attribute_keys[0].attribute_key,
    };
  }

  clientToken(): Promise<string> {
    return this.token(this.sandbox.client);
  }

  operatorToken(): Promise<string> {
    return this.token(this.sandbox.operator);
  }

  /** The client's credentials. */
  get client(): Login {
    return this.sandbox.client;
  }

  /** Returns the header and the body of the client's token request. The request can be sent any number of times. */
  tokenRequest(): { headers: Record<string, string>; body: string } {
    return tokenRequest(this.sandbox.client);
  }

  /**
   * Calls the service, and returns its response.
   * @throws Error when the service's response is not 2xx
   */
  async call<Answer = unknown>(token: string, method: string, path: string, body?: object): Promise<Answer> {
    const response = await fetch(this.url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body ? { 'content-type': 'application/json' } : {}) },
      body: body && JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as Answer;
  }

  /** Creates a verified subscription of the service's test account. @returns the id of the subscription */
  async subscribe(operator: string, { url, caPem }: ReceiverReady): Promise<string> {
    const { id } = await this.call<{ id: string }>(operator, 'POST', '/admin/subscriptions', {
      account_code: this.scene.accountCode,
      partner_url: url,
      ca_pem: caPem,
    });
    await this.call(operator, 'POST', `/admin/subscriptions/${id}/verify`);
    return id;
  }

  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    await ended;
  }

  private async token(login: Login): Promise<string> {
    const response = await fetch(`${this.url}/token`, { method: 'POST', ...tokenRequest(login) });
    if (!response.ok) throw new Error(`No token: ${response.status} ${await response.text()}`);
    return ((await response.json()) as { access_token: string }).access_token;
  }

  private get sandbox(): Sandbox {
    return JSON.parse(readFileSync(join(this.dataDir, 'sandbox.json'), 'utf8')) as Sandbox;
  }
}

/**
 * Deletes the records, bookings, jobs and notifications that a sandbox creates for the examples in the OpenAPI
 * document.
 */
async function clearExamples(databaseUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await clearEligibilities(client);
  await clearNotifications(client);
  await client.query('TRUNCATE jobs CASCADE');
  await client.end();
}

function tokenRequest({ consumer_key, consumer_secret, username, password }: Login) {
  return {
    headers: {
      authorization: `Basic ${btoa(`${consumer_key}:${consumer_secret}`)}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams({ grant_type: 'password', username, password }).toString(),
  };
}

/**
 * Returns the options for profiling. If `BENCH_CPU_PROFILE` is set to a folder, each service writes a profile to it.
 */
function profiling(dataDir: string): string[] {
  const folder = process.env['BENCH_CPU_PROFILE'];
  return folder ? ['--cpu-prof', `--cpu-prof-dir=${folder}/${dataDir.split('/').at(-1)}`] : [];
}

function serverOf(dataDir: string): { base_url: string; metrics_url: string } {
  return JSON.parse(readFileSync(join(dataDir, 'server.json'), 'utf8')) as ReturnType<typeof serverOf>;
}

async function readySeconds(child: ChildProcess, dataDir: string, started: number): Promise<number> {
  // `server.json` is written when everything is ready, and deleted at the beginning of a start.
  while (performance.now() - started < READY_WITHIN_MS) {
    if (child.exitCode !== null) break;
    if (existsSync(join(dataDir, 'server.json')) && (await isReady(dataDir)))
      return (performance.now() - started) / 1000;
    await sleep(5);
  }
  throw new Error(`The service does not become ready: ${readFileSync(join(dataDir, 'service.log'), 'utf8')}`);
}

async function isReady(dataDir: string): Promise<boolean> {
  try {
    return (await fetch(`${serverOf(dataDir).base_url}/health/ready`)).ok;
  } catch {
    return false;
  }
}
