import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

const MAIN = join(__dirname, '../main.js');
const START_MS = 180_000;

/** The service as a separate process, which can be killed and restarted. */
export class ServiceProcess {
  private child: ChildProcess | null = null;
  baseUrl = '';

  constructor(
    private readonly dataDir: string,
    private readonly env: Record<string, string>,
    /** The arguments of Node.js: options, if there are any, and then the program. */
    private readonly program: readonly string[] = [MAIN],
    /**
     * Whether the process has the lowest priority until it is ready. Its start then slows other processes as little as
     * a start on another machine would. On Linux, this requires root.
     */
    private readonly startsAside = false,
  ) {
    mkdirSync(dataDir, { recursive: true });
  }

  get isRunning(): boolean {
    return this.child !== null && this.child.exitCode === null && this.child.signalCode === null;
  }

  /** The pid of the running process. */
  get pid(): number {
    return this.child!.pid!;
  }

  /** Starts the service and resolves when it is ready. Retries while the database is briefly unavailable. */
  async start(): Promise<void> {
    const serverFile = join(this.dataDir, 'server.json');
    const giveUpAt = Date.now() + START_MS;
    while (Date.now() < giveUpAt) {
      rmSync(serverFile, { force: true });
      const [program, ...options] = this.startsAside ? ['nice', '-n', '19', process.execPath] : [process.execPath];
      const child = spawn(program, [...options, ...this.program], {
        env: { ...process.env, PORT: '0', METRICS_PORT: '0', LOG_LEVEL: 'fatal', DATA_DIR: this.dataDir, ...this.env },
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      this.child = child;
      while (this.isRunning && !existsSync(serverFile)) await pause(20);
      if (this.isRunning) {
        this.baseUrl = await readBaseUrl(serverFile);
        if (this.startsAside)
          for (const thread of readdirSync(`/proc/${this.pid}/task`))
            setPriority(Number(thread), constants.priority.PRIORITY_NORMAL);
        return;
      }
      await pause(300);
    }
    throw new Error('The service does not start.');
  }

  async kill(signal: NodeJS.Signals): Promise<void> {
    const { child } = this;
    if (child === null || !this.isRunning) return;
    const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
    child.kill(signal);
    await gone;
  }
}

async function readBaseUrl(file: string): Promise<string> {
  for (;;) {
    try {
      return (JSON.parse(readFileSync(file, 'utf8')) as { base_url: string }).base_url;
    } catch {
      // The file `server.json` may still be incomplete when it is read.
      await pause(5);
    }
  }
}
