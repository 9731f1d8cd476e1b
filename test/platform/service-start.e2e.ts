import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../support/eventually';
import { freePort } from '../support/identity-provider';
import { dataFolder } from '../support/process';

const root = join(__dirname, '../..');

/** Runs a command with a separate data folder, and ends the command after the work is done. */
async function withService(
  command: string[],
  work: (service: { dataDir: string; url: string; end: () => void }) => Promise<void>,
) {
  const [folder, port] = [dataFolder(), await freePort()];
  const { PATH, HOME } = process.env;
  const child = spawn(command[0], command.slice(1), {
    cwd: root,
    env: { PATH, HOME, DATA_DIR: folder.path, PORT: String(port), METRICS_PORT: '0', LOG_LEVEL: 'fatal' },
    stdio: 'ignore',
  });
  try {
    await work({ dataDir: folder.path, url: `http://127.0.0.1:${port}`, end: () => child.kill('SIGTERM') });
  } finally {
    const file = join(folder.path, 'server.json');
    if (existsSync(file)) process.kill((JSON.parse(readFileSync(file, 'utf8')) as { pid: number }).pid, 'SIGTERM');
    child.kill('SIGTERM');
    await eventually(() => !existsSync(file), 30_000);
    folder.remove();
  }
}

/** Starts the service, which is expected to fail, and returns its error output, its exit code and its log. */
async function failedStart(dataDir: string, ports: Record<string, string>): Promise<[string, number, string]> {
  const { PATH, HOME } = process.env;
  const child = spawn(process.execPath, ['scripts/start.mjs'], {
    cwd: root,
    env: { PATH, HOME, DATA_DIR: dataDir, HOST: '127.0.0.1', LOG_LEVEL: 'warn', ...ports },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [said, log, [exitCode]] = await Promise.all([
    text(child.stderr),
    text(child.stdout),
    once(child, 'exit') as Promise<[number]>,
  ]);
  return [said, exitCode, log];
}

const status = (url: string) =>
  fetch(`${url}/health/ready`).then(
    (answer) => answer.status,
    () => null,
  );

describe('§1 starting the service', () => {
  it('the service is not ready until the credentials of the sandbox exist', async () => {
    await withService([process.execPath, 'scripts/start.mjs'], async ({ dataDir, url }) => {
      const seen = new Set<number | null>();
      for (let answer = await status(url); answer !== 200; answer = await status(url)) {
        seen.add(answer);
        await pause(2);
      }
      expect(['sandbox.json', 'server.json'].map((name) => existsSync(join(dataDir, name)))).toEqual([true, true]);
      expect([...seen]).toEqual([null, 503]);
    });
  });

  it.each(['PORT', 'METRICS_PORT'])(
    'if the port of %s is in use, the service does not start and prints one line of explanation',
    async (setting) => {
      const taken = createServer();
      taken.listen(0, '127.0.0.1');
      await once(taken, 'listening');
      const { port } = taken.address() as AddressInfo;
      const folder = dataFolder();
      try {
        expect(await failedStart(folder.path, { PORT: '0', METRICS_PORT: '0', [setting]: String(port) })).toEqual([
          `127.0.0.1:${port} is not available (EADDRINUSE): set HOST and PORT, or METRICS_HOST and METRICS_PORT.\n`,
          1,
          expect.not.stringContaining('failed'),
        ]);
      } finally {
        taken.close();
        folder.remove();
      }
    },
  );

  it('a second start on a port of a running service explains the failure and leaves the files of that service as they were', async () => {
    await withService([process.execPath, 'scripts/start.mjs'], async ({ dataDir, url }) => {
      await eventually(() => existsSync(join(dataDir, 'server.json')), 60_000);
      const files = ['server.json', 'sandbox.json'].map((name) => join(dataDir, name));
      const before = files.map((file) => readFileSync(file, 'utf8'));
      const { metrics_url } = JSON.parse(before[0]) as { metrics_url: string };
      for (const [setting, { port }] of [
        ['PORT', new URL(url)],
        ['METRICS_PORT', new URL(metrics_url)],
      ] as const) {
        expect(await failedStart(dataDir, { PORT: '0', METRICS_PORT: '0', [setting]: port })).toEqual([
          expect.stringContaining(`127.0.0.1:${port} is not available`),
          1,
          expect.not.stringContaining('failed'),
        ]);
        expect(files.map((file) => readFileSync(file, 'utf8'))).toEqual(before);
      }
    });
  });

  it('when one of two services with the same data folder stops, server.json still describes the other one', async () => {
    await withService([process.execPath, 'scripts/start.mjs'], async ({ dataDir, url }) => {
      const file = join(dataDir, 'server.json');
      const described = () => (existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { pid: number }).pid : 0);
      await eventually(() => described() > 0, 60_000);
      const first = described();
      const { PATH, HOME } = process.env;
      const second = spawn(process.execPath, ['scripts/start.mjs'], {
        cwd: root,
        env: { PATH, HOME, DATA_DIR: dataDir, PORT: '0', METRICS_PORT: '0', LOG_LEVEL: 'fatal' },
        stdio: 'ignore',
      });
      const ended = once(second, 'exit');
      await eventually(() => described() > 0 && described() !== first, 60_000);
      const last = described();
      process.kill(first, 'SIGTERM');
      await eventually(async () => (await status(url)) === null, 20_000);
      expect(described()).toBe(last);
      process.kill(last, 'SIGTERM');
      await ended;
      expect(existsSync(file)).toBe(false);
    });
  });

  it('npm start fails with one line of explanation if the dependencies are not installed', async () => {
    const fresh = mkdtempSync(join(tmpdir(), 'fresh-'));
    try {
      cpSync(join(root, 'scripts'), join(fresh, 'scripts'), { recursive: true });
      for (const script of ['scripts/start.mjs', '--import=./scripts/installed.mjs scripts/dev.mjs']) {
        const child = spawn(process.execPath, script.split(' '), { cwd: fresh, stdio: ['ignore', 'ignore', 'pipe'] });
        const [said, [status]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
        expect([said, status]).toEqual(['The dependencies are not installed: run `npm install` first.\n', 1]);
      }
    } finally {
      rmSync(fresh, { recursive: true, force: true });
    }
  });

  it('when npm is stopped, the service that it has started also stops', async () => {
    await withService(['npm', 'start'], async ({ dataDir, url, end }) => {
      await eventually(async () => (await status(url)) === 200, 60_000);
      end();
      await eventually(() => !existsSync(join(dataDir, 'server.json')), 20_000);
      expect(await status(url)).toBeNull();
    });
  });
});
