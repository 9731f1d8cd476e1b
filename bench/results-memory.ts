/**
 * Measures the memory that a separate service needs for results with large photos. The service gets 200 results with
 * photos of 5 MiB, 16 at a time. The program fails when the resident memory rises by more than 150 MiB above the
 * service's idle level. It runs only on Linux, because it reads the peak from /proc.
 *
 * usage: npm run build && node dist/bench/results-memory.js
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { peakResidentMiB, residentMiB } from './processor-time.js';

const RESULTS = 200;
const AT_A_TIME = 16;
const PHOTO_BYTES = 5 * 1024 * 1024;
const MOST_MIB = 150;

interface Sandbox {
  account_code: string;
  client: { consumer_key: string; consumer_secret: string; username: string; password: string };
  tests: { test_code: string }[];
}

async function main(): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'results-memory-'));
  const service = spawn(process.execPath, [join(__dirname, '../main.js')], {
    env: { ...process.env, DATA_DIR: dataDir, PORT: '0', METRICS_PORT: '0', LOG_LEVEL: 'error', SANDBOX: 'true' },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = new Promise<void>((resolve) => service.once('exit', () => resolve()));
  try {
    const rise = await measure(service.pid!, dataDir);
    process.exitCode = rise <= MOST_MIB ? 0 : 1;
  } finally {
    service.kill('SIGTERM');
    await ended;
    const cluster = join(dataDir, 'postgres');
    if (existsSync(cluster)) rmSync(realpathSync(cluster), { recursive: true, force: true });
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** Returns how far the resident memory rises above its idle level, in MiB. */
async function measure(pid: number, dataDir: string): Promise<number> {
  const serverFile = join(dataDir, 'server.json');
  while (!existsSync(serverFile)) await pause(100);
  const { base_url } = JSON.parse(readFileSync(serverFile, 'utf8')) as { base_url: string };
  const sandbox = JSON.parse(readFileSync(join(dataDir, 'sandbox.json'), 'utf8')) as Sandbox;
  const token = await tokenOf(base_url, sandbox);
  const send = (method: string, path: string, body: string) =>
    fetch(base_url + path, {
      method,
      body,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    });

  const exams: string[] = [];
  for (let i = 0; i < RESULTS; i++) {
    const answer = await send(
      'POST',
      `/accounts/${sandbox.account_code}/candidates`,
      JSON.stringify({
        test_code: sandbox.tests[0].test_code,
        candidate: { candidate_id: `C-${i}`, first_name: 'Ada', last_name: 'Lovelace' },
      }),
    );
    exams.push(((await answer.json()) as { svc_eligiblity_id: string }).svc_eligiblity_id);
  }

  await pause(3000);
  const idle = residentMiB(pid);
  const begun = performance.now();
  const left = exams.map((examCode, i) => ({ examCode, i }));
  await Promise.all(
    Array.from({ length: AT_A_TIME }, async () => {
      for (let next = left.pop(); next; next = left.pop()) {
        const answer = await send(
          'POST',
          '/registrations/registration/results',
          JSON.stringify({
            examMetaData: { examCode: next.examCode, extRecordLocator: `L-${next.i}` },
            overAllComments: 'Fine.',
            userPhotoBase64String: randomBytes(PHOTO_BYTES).toString('base64'),
          }),
        );
        if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`);
      }
    }),
  );
  const seconds = (performance.now() - begun) / 1000;
  const peak = peakResidentMiB(pid);
  const rise = peak - idle;
  const figures = {
    results: RESULTS,
    at_a_time: AT_A_TIME,
    seconds: Math.round(seconds * 10) / 10,
    idle_mib: idle,
    peak_mib: peak,
    after_mib: residentMiB(pid),
    rise_mib: rise,
    most_mib: MOST_MIB,
  };
  console.log(JSON.stringify(figures));
  return rise;
}

async function tokenOf(baseUrl: string, { client }: Sandbox): Promise<string> {
  const answer = await fetch(`${baseUrl}/token`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from(`${client.consumer_key}:${client.consumer_secret}`).toString('base64')}`,
    },
    body: new URLSearchParams({ grant_type: 'password', username: client.username, password: client.password }),
  });
  return ((await answer.json()) as { access_token: string }).access_token;
}

void main();
