/**
 * Tests that no result is lost and none is stored twice, whatever fails.
 *
 * Bodies that randomly vary the formats of the specification and edX are delivered on both routes during a series of
 * faults: a lock on the tables of results, no free connection, SIGKILL of the service, SIGKILL of PostgreSQL, a full
 * disk. A body that is answered with 500, or whose connection breaks, is sent again in half of the cases. At the end,
 * the program reports these faults:
 *
 * - lost: a body that was answered with 200, 400 or 415 and that the API does not return byte for byte (in each
 *   top-level member);
 * - twice: a body that is found more than once;
 * - torn: a body that was answered with 500 or cut off, and whose stored content differs from the sent content;
 * - other: a response other than 200, 400, 415 and 500.
 *
 * usage: npm run results [-- --bodies N]   (default 20000; the exit code is 1 when the program finds one of the four)
 */
import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import fc from 'fast-check';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../../src/platform/embedded-postgres/embedded-postgres.js';
import { migrate } from '../../../src/platform/database/migrate.js';
import { prepare, query, TEST_CODE } from '../../../bench/prepare.js';
import { ServiceProcess } from '../../../bench/service-process.js';
import { isSame, mutation, sentOf, type Sent } from './bodies.js';
import { postmasterIn } from '../../support/postmaster.js';
import { fillDisk, mountSmallDisk } from '../small-disk.js';

const AT_ONCE = 24;
const EXAMS = 400;
const BATCH = 500;
/** The time for which a batch sends bodies before the fault occurs, so that the fault affects some of them. */
const WARM_MS = 200;

interface Outcome {
  readonly sent: Sent;
  status: number | 'cut';
  id: string | null;
}

async function main(): Promise<boolean> {
  const { values } = parseArgs({ options: { bodies: { type: 'string', default: '20000' } }, strict: false });
  const stops: (() => unknown)[] = [];
  try {
    return await run(Number(values.bodies), stops);
  } finally {
    for (const stop of stops.reverse())
      try {
        await stop();
      } catch (error) {
        process.stderr.write(`${(error as Error).message}\n`);
      }
  }
}

async function run(bodies: number, stops: (() => unknown)[]): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'results-'));
  chmodSync(folder, 0o755);
  stops.push(() => rmSync(folder, { recursive: true, force: true }));
  const dataDir = join(folder, 'database');
  mkdirSync(dataDir);
  const hasDisk = mountSmallDisk(dataDir, stops);
  const database = await startEmbeddedPostgres({ dataDir, database: 'results' });
  stops.push(() => database.stop());
  await migrate(database.url);
  const { account, token } = await prepare(database.url);
  const service = new ServiceProcess(join(folder, 'service'), {
    DATABASE_URL: database.url,
    SECRETS_KEY: randomBytes(32).toString('base64'),
    HOST: '127.0.0.1',
    RATE_LIMIT_PER_MINUTE: '0',
    RESULT_MIB_PER_DAY: '0',
  });
  stops.push(() => service.kill('SIGTERM'));
  await service.start();
  const exams = await makeExams(service.baseUrl, account, token);
  const headers = { authorization: `Bearer ${token}` };

  async function send(sent: Sent): Promise<Omit<Outcome, 'sent'>> {
    const path = sent.source === 'ACCOUNT' ? `/accounts/${account}` : '/registrations/registration/results';
    try {
      const answer = await fetch(service.baseUrl + path, {
        method: sent.source === 'ACCOUNT' ? 'PUT' : 'POST',
        headers: { ...headers, 'content-type': sent.type },
        body: Buffer.from(sent.text),
        signal: AbortSignal.timeout(30_000),
      });
      const text = await answer.text();
      const kept = text === '' ? null : (JSON.parse(text) as { unmatched_result_id?: string }).unmatched_result_id;
      return { status: answer.status, id: kept ?? null };
    } catch {
      // Waits until a killed service has started again, so that the rest of the batch reaches it.
      await pause(1_000);
      return { status: 'cut', id: null };
    }
  }

  const faults: Record<string, () => Promise<void>> = {
    none: () => Promise.resolve(),
    lock: () => lockTables(database.url),
    connections: () => takeConnections(database.url),
    service: async () => {
      await service.kill('SIGKILL');
      await service.start();
    },
    postgres: async () => {
      process.kill(postmasterIn(join(dataDir, 'postgres')), 'SIGKILL');
      await query(database.url, 'SELECT 1');
    },
    ...(hasDisk ? { disk: () => fillDisk(dataDir) } : {}),
  };
  const outcomes: Outcome[] = [];
  const rounds = Math.ceil(bodies / BATCH);
  const mutations = fc.sample(mutation, { numRuns: rounds * BATCH, seed: 20_270_131 });
  const figures: Record<string, number> = {};
  for (let round = 0; round < rounds; round++) {
    const name = Object.keys(faults)[round % Object.keys(faults).length];
    const waiting = mutations
      .slice(round * BATCH, (round + 1) * BATCH)
      .map((one, at) => sentOf(one, `marker-${round}-${at}-`, exams));
    const work = Array.from({ length: AT_ONCE }, async () => {
      for (let sent = waiting.shift(); sent !== undefined; sent = waiting.shift()) {
        const outcome: Outcome = { sent, ...(await send(sent)) };
        if ((outcome.status === 500 || outcome.status === 'cut') && sent.marker.length % 2 === 0)
          Object.assign(outcome, await send(sent));
        outcomes.push(outcome);
        const key = `${name} ${outcome.status}`;
        figures[key] = (figures[key] ?? 0) + 1;
      }
    });
    await pause(WARM_MS);
    await faults[name]();
    await Promise.all(work);
    if (!service.isRunning) await service.start();
    process.stdout.write(`${outcomes.length} bodies, ${name}\n`);
  }
  // Waits for the service to finish storing bodies whose sender received no response.
  await pause(10_000);
  const verdict = await judge(service.baseUrl, database.url, headers, outcomes);
  const shown = [...Object.entries(figures).sort(), ['bodies', outcomes.length], ...Object.entries(verdict)];
  process.stdout.write(`\n${shown.map(([name, count]) => `${name.toString().padEnd(20)}${count}`).join('\n')}\n`);
  return verdict.lost + verdict.twice + verdict.torn + verdict.other === 0;
}

async function judge(baseUrl: string, url: string, headers: Record<string, string>, outcomes: readonly Outcome[]) {
  const read = async (path: string) => {
    const answer = await fetch(baseUrl + path, { headers });
    return { ok: answer.ok, bytes: Buffer.from(await answer.arrayBuffer()) };
  };
  const bodyIn = ({ bytes }: { bytes: Buffer }, marker: string) => {
    const text = bytes.toString('utf8');
    return text.slice(text.indexOf(`{"marker":"${marker}`));
  };
  const places = new Map<string, string[]>();
  const note = (body: string, path: string) => {
    const [marker] = /marker-\d+-\d+-/.exec(body) ?? [];
    if (marker !== undefined) places.set(marker, [...(places.get(marker) ?? []), path]);
  };
  const revisions = await query(
    url,
    `SELECT account_code AS account, candidate_id AS candidate, test_code AS test, body
     FROM result_revisions JOIN eligibilities USING (svc_eligiblity_id, account_code)`,
  );
  for (const { account, candidate, test, body } of revisions as Record<string, string>[])
    note(body, `/accounts/${account}/candidates/${candidate}/tests/${test}/results`);
  for (const row of await query(url, 'SELECT id, body FROM unmatched_results')) {
    const path = `/admin/unmatched-results/${row['id'] as string}`;
    if (row['body'] !== null) note(row['body'] as string, path);
    else note((await read(`${path}/raw`)).bytes.toString('utf8'), `${path}/raw`);
  }
  const found = { lost: 0, twice: 0, torn: 0, other: 0, kept: 0, 'never stored': 0 };
  for (const { sent, status } of outcomes) {
    const paths = places.get(sent.marker) ?? [];
    if (![200, 400, 415, 500, 'cut'].includes(status)) found.other++;
    if (paths.length > 1) found.twice++;
    const isAnswered = typeof status === 'number' && status < 500;
    if (paths.length === 0) {
      if (isAnswered) process.stderr.write(`lost: ${status} ${sent.text}\n`);
      found[isAnswered ? 'lost' : 'never stored']++;
      continue;
    }
    found.kept++;
    const answer = await read(paths[0]);
    const same = paths[0].endsWith('/raw')
      ? answer.bytes.toString('utf8') === sent.text
      : isSame(sent.text, bodyIn(answer, sent.marker));
    if (same) continue;
    process.stderr.write(`differs: ${status} ${paths[0]} ${sent.text}\n`);
    found[isAnswered ? 'lost' : 'torn']++;
  }
  return found;
}

async function makeExams(baseUrl: string, account: string, token: string) {
  const exams: { code: string; candidate: string }[] = [];
  for (let at = 0; at < EXAMS; at++) {
    const candidate = `C-${at}`;
    const answer = await fetch(`${baseUrl}/accounts/${account}/candidates`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        test_code: TEST_CODE,
        candidate: { candidate_id: candidate, first_name: 'A', last_name: 'B' },
      }),
    });
    exams.push({ code: ((await answer.json()) as { svc_eligiblity_id: string }).svc_eligiblity_id, candidate });
  }
  return exams;
}

async function lockTables(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('BEGIN; LOCK TABLE result_revisions, unmatched_results IN ACCESS EXCLUSIVE MODE');
  await pause(6_000);
  await client.end();
}

/** Closes the service's connections, and occupies all connections that the server allows. */
async function takeConnections(url: string): Promise<void> {
  const taken: pg.Client[] = [];
  const until = Date.now() + 4_000;
  while (Date.now() < until) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      taken.push(client);
      await client.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
         AND pid <> ALL (SELECT pid FROM pg_stat_activity WHERE application_name = 'taken') AND pid <> pg_backend_pid()`,
      );
      await client.query(`SET application_name = 'taken'`);
    } catch {
      await pause(50);
    }
  }
  await Promise.all(taken.map((client) => client.end().catch(() => undefined)));
}

main()
  .then((isWell) => {
    process.exitCode = isWell ? 0 : 1;
  })
  .catch((error: unknown) => {
    process.stderr.write(`${(error as Error).stack}\n`);
    process.exitCode = 1;
  });
