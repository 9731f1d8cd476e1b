import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { ChangePartitions } from '../../src/changes/change-partitions';
import { insertChanges } from '../../src/platform/changes/change-log';
import type { Statement } from '../../src/platform/database/database';
import { startApp, type Answer, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';

/**
 * Tests that readers get each committed entry exactly once, in any order, while writers pause, roll back and are
 * killed. For a long run, use `CHANGES_ROUNDS=10000 npx jest test/changes/changes-interleavings.e2e.ts`.
 */
const ROUNDS = Number(process.env['CHANGES_ROUNDS'] ?? 1000);
/**
 * The number of rounds against a change feed with a planted fault. In so many rounds, the test detects the fault
 * several times.
 */
const FAULTY_ROUNDS = 400;
const WRITERS = 8;
const READERS = 3;

let app: TestApp;
let scene: Awaited<ReturnType<TestApp['given']['scene']>>;

beforeAll(async () => {
  app = await startApp();
  scene = await app.given.scene();
});
afterAll(() => app.close());

const entry = (id: string) =>
  JSON.stringify([
    {
      kind: ['ELIGIBILITY', 'BOOKING', 'RESULT'][randomInt(3)],
      change: 'UPDATED',
      at: new Date(),
      account_code: scene.account,
      svc_eligiblity_id: id,
      candidate_id: 'C-1',
      test_code: scene.testCode,
      status: 'ELIGIBLE',
    },
  ]);

/**
 * Writes an entry for each name in one transaction with a random outcome. Returns the committed entries, and whether
 * the connection was lost.
 */
async function write(client: pg.Client, names: string[], killer: pg.Pool): Promise<{ kept: string[]; lost: boolean }> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  await client.query('BEGIN');
  for (const name of names) {
    await client.query(insertChanges('$1'), [entry(name)]);
    if (randomInt(3) === 0) await pause(randomInt(12));
  }
  const fate = randomInt(20);
  if (fate === 0) {
    await killer.query('SELECT pg_terminate_backend($1)', [rows[0].pid]);
    return { kept: [], lost: true };
  }
  if (fate < 5) {
    await client.query('ROLLBACK');
    return { kept: [], lost: false };
  }
  await client.query('COMMIT');
  return { kept: names, lost: false };
}

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: app.databaseUrl });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

/**
 * Runs the given number of transactions. Returns the number of committed entries, and the numbers of entries that
 * readers missed, read twice, or read although they were not committed.
 */
async function faultsIn(
  rounds: number,
): Promise<{ committed: number; skipped: number; twice: number; undone: number }> {
  const committed = new Set<string>();
  const run = randomInt(2 ** 31);
  let round = 0;
  let writing = true;
  const killer = new pg.Pool({ connectionString: app.databaseUrl });
  let start = `/accounts/${scene.account}/changes?after=now`;
  start = nextOf(await app.call('GET', start, { token: scene.token }));

  const writers = Array.from({ length: WRITERS }, async () => {
    let client = await connect();
    while (round < rounds) {
      const number = ++round;
      const names = Array.from({ length: 1 + randomInt(3) }, (_, index) => `${run}.${number}.${index}`);
      const { kept, lost } = await write(client, names, killer);
      for (const name of kept) committed.add(name);
      if (lost) {
        await client.end().catch(() => undefined);
        client = await connect();
      }
    }
    await client.end();
  });

  const readers = Array.from({ length: READERS }, async () => {
    const seen: string[] = [];
    let next = `${start}&limit=${1 + randomInt(40)}`;
    for (;;) {
      const last = !writing;
      const answer = await app.call('GET', next, { token: scene.token });
      expect(answer.status).toBe(200);
      const entries = answer.body as { svc_eligiblity_id: string }[];
      seen.push(...entries.map((one) => one.svc_eligiblity_id));
      next = nextOf(answer);
      if (last && entries.length === 0) return seen;
    }
  });

  await Promise.all(writers);
  await untilOthersHaveEnded();
  writing = false;
  const faults = { committed: committed.size, skipped: 0, twice: 0, undone: 0 };
  for (const seen of await Promise.all(readers)) {
    const once = new Set(seen);
    faults.twice += seen.length - once.size;
    faults.skipped += [...committed].filter((name) => !once.has(name)).length;
    faults.undone += [...once].filter((name) => !committed.has(name)).length;
  }
  await killer.end();
  return faults;
}

/**
 * Waits for the other transactions on the server, including those of other test files, because the feed waits for them.
 */
async function untilOthersHaveEnded(): Promise<void> {
  const [{ now }] = await app.given.sql('SELECT pg_current_xact_id()::text AS now');
  const over = 'SELECT pg_snapshot_xmin(pg_current_snapshot()) > $1::xid8 AS over';
  await eventually(async () => expect(await app.given.sql(over, [now])).toEqual([{ over: true }]), 60_000);
}

function nextOf(answer: Answer): string {
  return /<([^>]+)>/.exec(answer.headers.get('link')!)![1].slice(app.url.length);
}

test(`the change feed skips no entry and repeats no entry in ${ROUNDS} rounds of concurrent transactions`, async () => {
  const { committed, ...faults } = await faultsIn(ROUNDS);
  expect(committed).toBeGreaterThan(ROUNDS);
  expect(faults).toEqual({ skipped: 0, twice: 0, undone: 0 });
}, 600_000);

test('the test detects a change feed that lists later entries while an earlier transaction is still running', async () => {
  const query = app.database.query.bind(app.database);
  const faulty = jest
    .spyOn(app.database, 'query')
    .mockImplementation(((statement: Statement, values: unknown[]) =>
      query(
        statement.text.includes('(horizon.generation, horizon.xmin)')
          ? { text: statement.text.replace('(horizon.generation, horizon.xmin)', '(horizon.generation, horizon.xmax)') }
          : statement,
        values,
      )) as typeof query);
  try {
    const { skipped, twice } = await faultsIn(FAULTY_ROUNDS);
    expect(faulty).toHaveBeenCalled();
    expect(skipped + twice).toBeGreaterThan(0);
  } finally {
    faulty.mockRestore();
  }
}, 600_000);

test('the change feed accepts a cursor after a restore into another cluster, whose transaction ids start anew', async () => {
  const client = await connect();
  const page = async (path: string) => {
    const answer = await app.call('GET', path, { token: scene.token });
    const next = /<([^>]+)>/.exec(answer.headers.get('link')!)![1].slice(app.url.length);
    return { ids: (answer.body as { svc_eligiblity_id: string }[]).map((one) => one.svc_eligiblity_id), next };
  };
  await untilOthersHaveEnded();
  const { next } = await page(`/accounts/${scene.account}/changes?after=now`);
  // Simulates the state after a dump was restored into another cluster. The rows come from the old cluster, whose
  // transaction ids were far higher.
  await client.query(`UPDATE change_epoch SET system_identifier = 'another'`);
  await app.app.get(ChangePartitions, { strict: false }).run();
  await client.query(insertChanges('$1'), [entry('restored')]);
  await client.query(`UPDATE changes SET xid = 7 WHERE svc_eligiblity_id = 'restored'`);
  expect((await page(next)).ids).toEqual(['restored']);
  await client.end();
});
