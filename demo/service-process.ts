import { spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { startEmbeddedPostgres } from '../src/platform/embedded-postgres/embedded-postgres.js';

const MAIN = join(__dirname, '../main.js');
const START_WITHIN_MS = 60_000;
const STOP_WITHIN_MS = 15_000;

export interface Login {
  consumer_key: string;
  consumer_secret: string;
  username: string;
  password: string;
}

/** The members of `sandbox.json` that the demo uses. */
export interface Sandbox {
  account_code: string;
  client: Login;
  operator: Login;
}

/** The service as a child process on free ports, with a sandbox in a temporary folder that is deleted at the end. */
export class ServiceProcess {
  private output = '';
  private readonly exited: Promise<number | null>;

  private constructor(
    private readonly child: ChildProcess,
    private readonly dataDir: string,
  ) {
    this.exited = new Promise((resolve) => {
      child.once('error', () => resolve(null));
      child.once('exit', (code) => resolve(code));
    });
    const keep = (chunk: Buffer) => (this.output = (this.output + chunk.toString('utf8')).slice(-4000));
    child.stdout?.on('data', keep);
    child.stderr?.on('data', keep);
  }

  static start(): ServiceProcess {
    const dataDir = mkdtempSync(join(tmpdir(), 'eligibility-demo-'));
    // PostgreSQL never runs as root, and its user must be able to enter the folder; the secret files in it have
    // restrictive modes.
    chmodSync(dataDir, 0o755);
    const { PATH, HOME, TMPDIR, TEMP, TMP, SystemRoot } = process.env;
    const env = { PATH, HOME, TMPDIR, TEMP, TMP, SystemRoot };
    const settings = { DATA_DIR: dataDir, PORT: '0', HOST: '127.0.0.1', METRICS_PORT: '0', LOG_LEVEL: 'warn' };
    const child = spawn(process.execPath, [MAIN], { env: { ...env, ...settings }, stdio: ['ignore', 'pipe', 'pipe'] });
    return new ServiceProcess(child, dataDir);
  }

  /** Returns the address of the service and its sandbox once the service is ready. */
  async ready(): Promise<{ baseUrl: string; sandbox: Sandbox }> {
    const serverFile = join(this.dataDir, 'server.json');
    for (const until = Date.now() + START_WITHIN_MS; !existsSync(serverFile); await pause(20)) {
      if (this.child.exitCode !== null || this.child.signalCode !== null || Date.now() > until)
        throw new Error(`The service did not start.\n${this.output}`);
    }
    const { base_url } = await this.json<{ base_url: string }>('server.json');
    return { baseUrl: base_url, sandbox: await this.json<Sandbox>('sandbox.json') };
  }

  /**
   * Stops the service and deletes everything that it wrote.
   *
   * @returns its exit code; null if it had to be killed
   */
  async stop(): Promise<number | null> {
    this.child.kill('SIGTERM');
    const timer = setTimeout(() => this.child.kill('SIGKILL'), STOP_WITHIN_MS);
    const code = await this.exited;
    clearTimeout(timer);
    // A killed service leaves its database running: a new start adopts the database, and can then stop it.
    if (code !== 0 && existsSync(join(this.dataDir, 'postgres')))
      await (await startEmbeddedPostgres({ dataDir: this.dataDir, database: 'postgres' })).stop();
    this.removeFiles();
    return code;
  }

  /** Returns the last output of the service. */
  get lastOutput(): string {
    return this.output;
  }

  private removeFiles(): void {
    const cluster = join(this.dataDir, 'postgres');
    // `postgres` is a link to the cluster if PostgreSQL's user may not enter the temporary folder.
    if (existsSync(cluster)) rmSync(realpathSync(cluster), { recursive: true, force: true });
    rmSync(this.dataDir, { recursive: true, force: true });
  }

  /** Reads a JSON file; retries, because the service writes its files in place and a file may be half written. */
  private async json<T>(name: string): Promise<T> {
    for (let tries = 50; ; tries--) {
      try {
        return JSON.parse(readFileSync(join(this.dataDir, name), 'utf8')) as T;
      } catch (error) {
        if (tries === 0) throw error;
        await pause(20);
      }
    }
  }
}
