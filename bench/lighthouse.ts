/**
 * Runs Lighthouse on pages of the console and on public pages. In the console, an operator is signed in, and there is
 * an error queue. Lighthouse simulates a slow phone and a desktop computer. It is fetched from npm at run time, because
 * nothing else needs it.
 *
 * usage: node dist/bench/lighthouse.js [--rows 2000 --pages docs,guide]   (goal: each figure 95 or more; for Swagger
 * UI, which needs seconds to read its document, only the figures are printed)
 */
import 'reflect-metadata';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { parseArgs, promisify } from 'node:util';
import { startBrowser } from '../test/support/browser.js';
import { runCommand } from './command.js';
import { fillQueue, makeOperator, startInside } from './inside.js';

const LIGHTHOUSE = 'lighthouse@12.8.2';
const GOAL = 95;
const PAGES = {
  home: '/console',
  queue: '/console/queue',
  start: '/',
  guide: '/guide',
  api: '/guide/api.html',
  docs: '/docs',
};
const WITHOUT_GOAL = 'docs';
const METRICS = [
  'first-contentful-paint',
  'largest-contentful-paint',
  'total-blocking-time',
  'cumulative-layout-shift',
];
const FORMS = ['desktop', 'telephone'] as const;
/**
 * The speed of the simulated phone in Lighthouse's benchmark index. Lighthouse slows the machine down by a factor of
 * four by default, which makes a machine with an index of 1,500 as fast as this phone. On other machines, the factor is
 * calculated from the index that the run before has measured.
 */
const PHONE_INDEX = 375;

interface Report {
  /** The speed of this machine, as Lighthouse measures it. */
  environment: { benchmarkIndex: number };
  categories: Record<string, { title: string; score: number | null }>;
  audits: Record<string, { title: string; score: number | null; scoreDisplayMode: string; displayValue?: string }>;
}

async function main(): Promise<boolean> {
  const { values } = parseArgs({ options: { rows: { type: 'string', default: '2000' }, pages: { type: 'string' } } });
  const pages = values.pages?.split(',') ?? Object.keys(PAGES);
  const { baseUrl, token, account, database, databaseUrl, ...service } = await startInside();
  await fillQueue(database, databaseUrl, account, Number(values.rows));
  const cookie = await signIn(baseUrl, await makeOperator(baseUrl, token));
  const port = await freePort();
  const browser = await startBrowser([`--remote-debugging-port=${port}`]);
  let isWell = true;
  for (const [page, path] of Object.entries(PAGES).filter(([name]) => pages.includes(name))) {
    let slowdown = 1;
    for (const form of FORMS) {
      const { categories, audits, environment } = await reportOf(
        `${baseUrl}${path}`,
        cookie,
        port,
        optionsOf(form, slowdown),
      );
      const scores = Object.values(categories).map(
        ({ title, score }) => [title, Math.round((score ?? 0) * 100)] as const,
      );
      isWell &&= page === WITHOUT_GOAL || scores.every(([, score]) => score >= GOAL);
      process.stdout.write(
        `${page.padEnd(6)} ${form.padEnd(10)} ${scores.map((score) => score.join(' ')).join('   ')}\n`,
      );
      process.stdout.write(
        `    ${METRICS.map((name) => `${name} ${audits[name].displayValue}`).join(', ')}, benchmark index ${environment.benchmarkIndex}, slowed down ${slowdown.toFixed(1)} times\n`,
      );
      slowdown = Math.max(1, environment.benchmarkIndex / PHONE_INDEX);
      for (const { title, score, scoreDisplayMode } of Object.values(audits))
        if (scoreDisplayMode === 'binary' && score !== 1) process.stdout.write(`    ${title}\n`);
    }
  }
  await browser.close();
  await service.stop();
  return isWell;
}

async function signIn(baseUrl: string, operator: object): Promise<string> {
  const response = await fetch(`${baseUrl}/console/session`, {
    method: 'POST',
    headers: { 'Console-Request': '1', 'Content-Type': 'application/json' },
    body: JSON.stringify(operator),
  });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
  return response.headers.getSetCookie()[0].split(';', 1)[0];
}

function optionsOf(form: (typeof FORMS)[number], slowdown: number): string[] {
  return form === 'desktop' ? ['--preset=desktop'] : [`--throttling.cpuSlowdownMultiplier=${slowdown}`];
}

async function reportOf(url: string, cookie: string, port: number, options: readonly string[]): Promise<Report> {
  const headers = JSON.stringify({ Cookie: cookie });
  const { stdout } = await promisify(execFile)(
    'npx',
    ['--yes', LIGHTHOUSE, url, '--quiet', '--output=json', `--port=${port}`, `--extra-headers=${headers}`, ...options],
    { maxBuffer: 64 * 1024 * 1024 },
  );
  return JSON.parse(stdout) as Report;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

runCommand(main);
