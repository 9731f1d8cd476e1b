import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { migrate } from '../../src/platform/database/migrate';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';
import { PostgresServer } from '../support/servers';

/**
 * Tests section 10 of the contract: the feed has no gap after a crash, a failover or a restore. The tests start their
 * own database servers.
 */
const env = { SECRETS_KEY: randomBytes(32).toString('base64') };
type Scene = Awaited<ReturnType<TestApp['given']['scene']>>;

const open = (server: PostgresServer, database = 'svc') => startApp({ databaseUrl: server.url(database), env });

async function ask(app: TestApp, scene: Scene, query: string) {
  const answer = await app.call('GET', `/accounts/${scene.account}/changes?${query}`, { token: scene.token });
  if (answer.status !== 200) return { status: answer.status, ids: [], next: query };
  const next = new URL(/<([^>]+)>/.exec(answer.headers.get('link')!)![1]).search.slice(1);
  return {
    status: 200,
    ids: (answer.body as { svc_eligiblity_id: string }[]).map((one) => one.svc_eligiblity_id),
    next,
  };
}

/**
 * Returns all entries of the change feed after the given cursor, and the next cursor. Reads the feed in pages of two
 * entries.
 */
async function rest(app: TestApp, scene: Scene, from: string) {
  await app.given.settled();
  const all: string[] = [];
  for (let cursor = `${from.replace(/&?limit=\d+/, '')}&limit=2`; ;) {
    const { status, ids, next } = await ask(app, scene, cursor);
    expect(status).toBe(200);
    if (ids.length === 0) return { ids: all, next };
    all.push(...ids);
    cursor = next;
  }
}

const created = async (app: TestApp, scene: Scene) =>
  (await app.given.eligibility(scene))['svc_eligiblity_id'] as string;

/** Uses up the given number of transaction ids without writing; returns the last id. */
async function useIds(server: PostgresServer, count: number): Promise<number> {
  await server.query(
    `DO $$ BEGIN FOR n IN 1..${count} LOOP PERFORM pg_current_xact_id(); ROLLBACK; END LOOP; END $$`,
    'svc',
  );
  const [{ next }] = await server.query('SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS next');
  return Number(next) - 1;
}

/**
 * Imitates pg_dump and pg_restore. A restore creates the schema again, and inserts the same rows and sequence values.
 */
class Dump {
  private constructor(
    private readonly folder: string,
    private readonly tables: string[],
    private readonly sequences: { name: string; value: string }[],
  ) {}

  static async of(server: PostgresServer): Promise<Dump> {
    const folder = mkdtempSync(join(tmpdir(), 'eligibility-dump-'));
    // PostgreSQL may run as another operating-system user, which needs access to the folder.
    chmodSync(folder, 0o777);
    const tables = await server.query(
      `SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition`,
      'svc',
    );
    const names = tables.map((row) => row['relname'] as string);
    for (const name of names) await server.query(`COPY (SELECT * FROM ${name}) TO '${join(folder, name)}'`, 'svc');
    const sequences = await server.query(
      `SELECT sequencename AS name, last_value::text AS value FROM pg_sequences WHERE last_value IS NOT NULL`,
      'svc',
    );
    return new Dump(folder, names, sequences as { name: string; value: string }[]);
  }

  async restore(server: PostgresServer, database: string): Promise<void> {
    await server.query(`CREATE DATABASE ${database}`);
    await migrate(server.url(database));
    await server.query(
      [
        'SET session_replication_role = replica',
        `TRUNCATE ${this.tables.join(', ')}`,
        ...this.tables.map((name) => `COPY ${name} FROM '${join(this.folder, name)}'`),
        ...this.sequences.map(({ name, value }) => `SELECT setval('${name}', ${value})`),
      ].join('; '),
      database,
    );
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }
}

describe('the change feed after a failure of the database', () => {
  let server: PostgresServer;
  let app: TestApp;
  let scene: Scene;

  beforeAll(async () => {
    // With a long `wal_writer_delay`, PostgreSQL delays writing uncommitted changes to its log on disk, so a crash
    // loses these changes.
    server = await PostgresServer.start({ wal_writer_delay: '10s' });
    await server.query('CREATE DATABASE svc');
    await migrate(server.url('svc'));
    app = await open(server);
    scene = await app.given.scene();
  });
  afterAll(async () => {
    await app?.close();
    await server?.end();
  });

  it.each(['an empty page', 'after=now'])(
    'the change feed continues from %s after a crash that makes PostgreSQL reuse transaction ids',
    async (where) => {
      const first = await created(app, scene);
      await app.given.settled();
      const { next: told } = await ask(app, scene, 'after=now');
      const used = await useIds(server, 20);
      const { ids, next } = await ask(app, scene, where === 'after=now' ? where : told);
      server.kill();
      expect(ids).toEqual([]);
      await server.restart();
      const second = await eventually(() => created(app, scene));
      const [{ xid }] = await app.given.sql('SELECT xid FROM changes WHERE svc_eligiblity_id = $1', [second]);
      expect(xid).toBeLessThanOrEqual(used);
      expect((await rest(app, scene, next)).ids).toEqual([second]);
      expect((await rest(app, scene, 'limit=2')).ids.slice(-2)).toEqual([first, second]);
    },
  );

  it("the change feed continues from the reader's position after a restore, or reports that the position is unknown", async () => {
    const { next: atStart } = await ask(app, scene, 'after=now');
    const kept = [await created(app, scene), await created(app, scene)];
    await app.given.settled();
    const { next: between } = await ask(app, scene, `${atStart}&limit=1`);
    await app.close();
    const copy = await server.coldCopy('copy');
    app = await open(server);
    const { ids: toldBefore, next: beforeLost } = await rest(app, scene, between);
    expect(toldBefore).toEqual([kept[1]]);
    await useIds(server, 300);
    const lost = [await created(app, scene), await created(app, scene)];
    const { ids, next: lostCursor } = await rest(app, scene, beforeLost);
    expect(ids).toEqual(lost);
    await useIds(server, 3000);
    lost.push(await created(app, scene));
    const dump = await Dump.of(server);
    const third = await PostgresServer.start();
    const opened: TestApp[] = [];
    try {
      const copied = await open(copy);
      opened.push(copied);
      const added = [await created(copied, scene)];
      const goesOn = async () => {
        for (const [cursor, told] of [
          [atStart, kept],
          [between, kept.slice(1)],
          [beforeLost, []],
        ] as const)
          expect((await rest(copied, scene, cursor)).ids).toEqual([...told, ...added]);
        // The last entry that the reader has seen does not exist on the restored server, although a different entry has
        // the same number.
        expect((await ask(copied, scene, lostCursor)).status).toBe(410);
      };
      await goesOn();
      await useIds(copy, 400);
      added.push(await created(copied, scene), await created(copied, scene), await created(copied, scene));
      await goesOn();

      // The dump is restored twice: into a new cluster, and into a cluster whose transaction ids are lower than those
      // in the dump.
      for (const target of [third, copy]) {
        await dump.restore(target, 'restored');
        const restored = await open(target, 'restored');
        opened.push(restored);
        const after = [await created(restored, scene), await created(restored, scene)];
        expect((await rest(restored, scene, atStart)).ids).toEqual([...kept, ...lost, ...after]);
        expect((await rest(restored, scene, lostCursor)).ids).toEqual([...lost.slice(2), ...after]);
        const { next } = await rest(restored, scene, lostCursor);
        const last = await created(restored, scene);
        expect((await rest(restored, scene, next)).ids).toEqual([last]);
      }
    } finally {
      for (const one of opened) await one.close();
      for (const one of [copy, third]) await one.end();
      dump.remove();
    }
  }, 120_000);
});

describe('a failover to a synchronous standby', () => {
  let primary: PostgresServer;
  let standby: PostgresServer;
  let app: TestApp;
  let scene: Scene;

  beforeAll(async () => {
    primary = await PostgresServer.start();
    await primary.query('CREATE DATABASE svc');
    await migrate(primary.url('svc'));
    standby = await primary.standby('one');
    await primary.query(`ALTER SYSTEM SET synchronous_standby_names = 'one'`);
    await primary.query('SELECT pg_reload_conf()');
    await eventually(async () => {
      expect(await primary.query('SELECT sync_state FROM pg_stat_replication')).toEqual([{ sync_state: 'sync' }]);
    });
    const hosts = [standby, primary].map((server) => server.address).join(',');
    const databaseUrl = `postgres://postgres:${primary.secret}@${hosts}/svc?target_session_attrs=read-write`;
    app = await startApp({ databaseUrl, env });
    scene = await app.given.scene();
  });
  afterAll(async () => {
    await app?.close();
    for (const server of [standby, primary]) await server?.end();
  });

  it('after a failover, readers of the change feed receive every acknowledged change exactly once while clients keep writing', async () => {
    const acknowledged: string[] = [];
    let writing = true;
    const writers = Array.from({ length: 4 }, async () => {
      while (writing) {
        const body = app.given.eligibilityBody(scene.testCode);
        const answer = await app.call('POST', `/accounts/${scene.account}/candidates`, { token: scene.token, body });
        if (answer.status === 200) acknowledged.push(answer.body.svc_eligiblity_id);
        else await pause(20);
      }
    });
    const readers = [1, 7, 50].map(async (limit) => {
      const seen: string[] = [];
      for (let cursor = `limit=${limit}`; ;) {
        const last = !writing;
        const { status, ids, next } = await ask(app, scene, cursor);
        seen.push(...ids);
        cursor = next;
        if (status === 200 && last && ids.length === 0) return { seen, cursor };
        if (ids.length === 0) await pause(10);
      }
    });
    await eventually(() => acknowledged.length >= 40, 20_000);
    primary.kill();
    await standby.promote();
    const before = acknowledged.length;
    await eventually(() => acknowledged.length >= before + 40, 20_000);
    writing = false;
    await Promise.all(writers);
    await app.given.settled();
    const stored = await app.given.sql('SELECT svc_eligiblity_id AS id FROM eligibilities');
    const ids = stored.map((row) => row['id'] as string).sort();
    expect(acknowledged.filter((id) => !ids.includes(id))).toEqual([]);
    for (const { seen, cursor } of await Promise.all(readers)) {
      const later = await rest(app, scene, cursor);
      expect([...seen, ...later.ids].sort()).toEqual(ids);
    }
    const generations = await app.given.sql('SELECT DISTINCT generation FROM changes');
    expect(generations).toHaveLength(2);
  }, 60_000);
});
