import { spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from './eventually';
import { postmasterIn } from './postmaster';

interface Login {
  consumer_key: string;
  consumer_secret: string;
  username: string;
  password: string;
}

export interface SandboxContent {
  base_url: string;
  token_url: string;
  account_code: string;
  client: Login;
  operator: Login;
  tests: { test_code: string; portions: { portion_code: string }[] }[];
}

const root = join(__dirname, '../..');

/** Creates a data folder for a service and its PostgreSQL cluster. `remove` deletes the folder and the cluster. */
export function dataFolder(): { path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'eligibility-process-'));
  chmodSync(path, 0o755);
  return {
    path,
    remove: () => {
      rmSync(realpathSync(join(path, 'postgres')), { recursive: true, force: true });
      rmSync(path, { recursive: true, force: true });
    },
  };
}

/** The service as `npm start` runs it, in a separate process. */
export class ServiceProcess {
  private constructor(
    readonly child: ChildProcess,
    readonly dataDir: string,
    private readonly lines: string[],
  ) {}

  static async start(dataDir: string, env: Record<string, string> = {}): Promise<ServiceProcess> {
    const child = spawn(process.execPath, [join(root, 'scripts/start.mjs')], {
      cwd: root,
      env: { PATH: process.env['PATH'], DATA_DIR: dataDir, PORT: '0', METRICS_PORT: '0', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const lines: string[] = [];
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => lines.push(text));
    const service = new ServiceProcess(child, dataDir, lines);
    await eventually(() => {
      if (child.exitCode !== null) throw new Error(`The service ended with ${child.exitCode}: ${service.output}`);
      return service.server.pid === child.pid;
    }, 60_000);
    return service;
  }

  /** Returns the complete output of the process so far. */
  get output(): string {
    return this.lines.join('');
  }

  get server(): { pid: number; base_url: string; metrics_url: string } {
    return JSON.parse(readFileSync(join(this.dataDir, 'server.json'), 'utf8')) as ReturnType<
      () => ServiceProcess['server']
    >;
  }

  get sandbox(): SandboxContent {
    return JSON.parse(readFileSync(join(this.dataDir, 'sandbox.json'), 'utf8')) as SandboxContent;
  }

  get postmasterPid(): number {
    return postmasterIn(join(this.dataDir, 'postgres'));
  }

  async token(login: Login): Promise<string> {
    const response = await fetch(`${this.server.base_url}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${login.consumer_key}:${login.consumer_secret}`)}` },
      body: new URLSearchParams({ grant_type: 'password', username: login.username, password: login.password }),
    });
    return ((await response.json()) as { access_token: string }).access_token;
  }

  async call(token: string, method: string, path: string, body?: unknown): Promise<{ status: number; body: any }> {
    const response = await fetch(this.server.base_url + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
  }

  /** Kills the process of the service immediately. */
  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.ended();
  }

  /** Stops the process. Returns its exit code. */
  async stop(): Promise<number | null> {
    this.child.kill('SIGTERM');
    return this.ended();
  }

  private async ended(): Promise<number | null> {
    if (this.child.exitCode === null && this.child.signalCode === null)
      await new Promise((resolve) => this.child.once('exit', resolve));
    return this.child.exitCode;
  }
}
