import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { ChangePartitions } from '../src/changes/change-partitions';
import { insertChanges } from '../src/platform/changes/change-log';
import { startApp, type TestApp } from './support/app';

/**
 * Writers that stall, roll back and are killed, and readers who ask while they do: what committed is read once, in whatever
 * order. `CHANGES_ROUNDS=10000` for a long run.
 */
const ROUNDS = Number(process.env['CHANGES_ROUNDS'] ?? 1500);
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

/** Writes one to three entries as one transaction of a random fate; answers with those that are committed. */
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

test(`in ${ROUNDS} transactions nothing is skipped and nothing comes twice`, async () => {
  const committed: string[] = [];
  let round = 0;
  let writing = true;
  const killer = new pg.Pool({ connectionString: app.databaseUrl });

  const writers = Array.from({ length: WRITERS }, async () => {
    let client = await connect();
    while (round < ROUNDS) {
      const number = ++round;
      const names = Array.from({ length: 1 + randomInt(3) }, (_, index) => `${number}.${index}`);
      const { kept, lost } = await write(client, names, killer);
      committed.push(...kept);
      if (lost) {
        await client.end().catch(() => undefined);
        client = await connect();
      }
    }
    await client.end();
  });

  const readers = Array.from({ length: READERS }, async () => {
    const seen: string[] = [];
    let next = `/accounts/${scene.account}/changes?limit=${1 + randomInt(40)}`;
    for (;;) {
      const last = !writing;
      const answer = await app.call('GET', next, { token: scene.token });
      expect(answer.status).toBe(200);
      const entries = answer.body as { svc_eligiblity_id: string }[];
      seen.push(...entries.map((one) => one.svc_eligiblity_id));
      next = /<([^>]+)>/.exec(answer.headers.get('link')!)![1].slice(app.url.length);
      if (last && entries.length === 0) return seen;
    }
  });

  await Promise.all(writers);
  writing = false;
  const all = await Promise.all(readers);
  await killer.end();
  expect(committed.length).toBeGreaterThan(ROUNDS);
  for (const seen of all) {
    expect(new Set(seen).size).toBe(seen.length);
    expect([...seen].sort()).toEqual([...committed].sort());
  }
}, 600_000);

test('after a restore into another cluster, whose transactions are counted anew, a cursor leads on', async () => {
  const client = await connect();
  const page = async (path: string) => {
    const answer = await app.call('GET', path, { token: scene.token });
    const next = /<([^>]+)>/.exec(answer.headers.get('link')!)![1].slice(app.url.length);
    return { ids: (answer.body as { svc_eligiblity_id: string }[]).map((one) => one.svc_eligiblity_id), next };
  };
  const { next } = await page(`/accounts/${scene.account}/changes?after=now`);
  // As a dump and its restore leave it: the rows of the old cluster, whose ids of transactions were far higher.
  await client.query(`UPDATE change_epoch SET system_identifier = 'another'`);
  await app.app.get(ChangePartitions, { strict: false }).run();
  await client.query(insertChanges('$1'), [entry('restored')]);
  await client.query(`UPDATE changes SET xid = 7 WHERE svc_eligiblity_id = 'restored'`);
  expect((await page(next)).ids).toEqual(['restored']);
  await client.end();
});
