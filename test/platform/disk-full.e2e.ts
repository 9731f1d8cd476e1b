import { execFileSync, spawnSync } from 'node:child_process';
import { chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { migrate } from '../../src/platform/database/migrate';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';

/**
 * Tests section 13 of the contract: the readiness check fails while the disk is full. The test fills a tablespace on a
 * small file system.
 */
const folder = mkdtempSync(join(tmpdir(), 'disk-full-'));
// Only root can mount a file system. In some containers, even root cannot.
const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'tmpfs', folder]).status === 0;
const MIB = 1024 * 1024;

const onSmallDisk = () => {
  const name = `full_${process.pid}`;
  let admin: pg.Client;
  let app: TestApp;
  let scene: Awaited<ReturnType<TestApp['given']['scene']>>;

  beforeAll(async () => {
    const server = process.env['TEST_POSTGRES_URL']!.replace(/[^/]+$/, 'postgres');
    admin = new pg.Client({ connectionString: server });
    await admin.connect();
    const { rows } = await admin.query<{ data: string }>(`SELECT current_setting('data_directory') AS data`);
    const { uid, gid } = statSync(rows[0].data);
    chownSync(folder, uid, gid);
    await admin.query(`CREATE TABLESPACE ${name} LOCATION '${folder}'`);
    await admin.query(`CREATE DATABASE ${name} TABLESPACE ${name} TEMPLATE template0`);
    const url = server.replace(/[^/]+$/, name);
    await migrate(url);
    app = await startApp({ databaseUrl: url });
    scene = await app.given.scene();
  }, 60_000);
  afterAll(async () => {
    await app.close();
    await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
    await admin.query(`DROP TABLESPACE ${name}`);
    await admin.end();
    execFileSync('umount', [folder]);
  });

  const ready = () => app.call('GET', '/health/ready');
  const create = () =>
    app.call('POST', `/accounts/${scene.account}/candidates`, {
      token: scene.token,
      body: app.given.eligibilityBody(scene.testCode),
    });

  it('readiness checks fail while the disk is full, and succeed again once there is space', async () => {
    const filler = join(folder, 'filler');
    for (let mib = 64, size = 0; mib >= 0.01; mib /= 2)
      try {
        writeFileSync(filler, Buffer.alloc(mib * MIB), { flag: 'a' });
        size += mib;
      } catch (error) {
        expect([(error as { code: string }).code, size]).toEqual(['ENOSPC', size]);
      }
    expect((await ready()).status).toBe(200);
    const refused = await eventually(async () => {
      const answer = await create();
      if (answer.status === 200) throw new Error('There is still room.');
      return answer;
    }, 30_000);
    expect([refused.status, refused.body.code]).toEqual([503, 'service_unavailable']);
    for (let n = 0; n < 3; n++)
      for (const { status, body } of await Promise.all([ready(), ready(), ready()]))
        expect([status, body.parts.database]).toEqual([503, 'disk-full']);
    rmSync(filler);
    expect((await ready()).status).toBe(200);
    expect((await create()).status).toBe(200);
    expect((await ready()).status).toBe(200);
  });
};
if (isMounted) describe('while the disk of the database is full', onSmallDisk);

it('returns 503 for a write while the disk of the database server is full, and accepts it once there is space', async () => {
  const app = await startApp();
  try {
    const scene = await app.given.scene();
    await app.given.sql(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
      $$BEGIN RAISE 'could not extend file' USING ERRCODE = 'disk_full'; END$$`);
    await app.given.sql('CREATE TRIGGER full_disk BEFORE INSERT ON eligibilities EXECUTE FUNCTION refuse()');
    const create = () =>
      app.call('POST', `/accounts/${scene.account}/candidates`, {
        token: scene.token,
        body: app.given.eligibilityBody(scene.testCode),
      });
    const { status, body, headers } = await create();
    expect([status, body.code, headers.has('retry-after')]).toEqual([503, 'service_unavailable', true]);
    await app.given.sql('DROP TRIGGER full_disk ON eligibilities');
    expect((await create()).status).toBe(200);
  } finally {
    await app.close();
  }
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));
