import { mkdtempSync, rmSync } from 'node:fs';
import { request, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../support/eventually';
import { ImportWorker } from '../../src/imports/import-worker';
import { startApp, type TestApp } from '../support/app';
import { ServiceProcess } from '../support/process';

const NDJSON = { 'content-type': 'application/x-ndjson' };

const rowsOf = (testCode: string, prefix: string, count: number): string =>
  Array.from({ length: count }, (_, number) =>
    JSON.stringify({
      test_code: testCode,
      candidate: { candidate_id: `${prefix}-${number}`, first_name: 'Ada', last_name: 'Lovelace' },
    }),
  ).join('\n');

describe('imports in several processes', () => {
  let app: TestApp;

  // This process only receives files; the test decides which process handles the files' rows.
  beforeEach(async () => (app = await startApp({ env: { ROLES: 'api' } })));
  afterEach(() => app.close());

  /** Starts a process that handles rows, with the same `SECRETS_KEY` as the receiving process. */
  const worker = () =>
    startApp({
      databaseUrl: app.databaseUrl,
      env: { ROLES: 'delivery', SECRETS_KEY: app.config.secrets.keys[0].toString('base64') },
    });
  const start = async (scene: { account: string; token: string }, body: string): Promise<string> => {
    const path = `/accounts/${scene.account}/eligibility-imports`;
    const answer = await app.call('POST', path, { token: scene.token, body, headers: NDJSON });
    expect(answer.status).toBe(202);
    return `${path}/${answer.body.import_id}`;
  };
  const stateOf = async (path: string, token: string) => (await app.call('GET', path, { token })).body;
  const recordsOf = async (account: string): Promise<number> =>
    Number((await app.given.sql('SELECT count(*) FROM eligibilities WHERE account_code = $1', [account]))[0]['count']);

  it('simultaneous imports of one account complete, and each row is processed once', async () => {
    const scene = await app.given.scene();
    const workers = [await worker(), await worker()];
    // The second half is the same in both files. Of two equal rows, only the row that is processed first creates a
    // record.
    const shared = rowsOf(scene.testCode, 'both', 500);
    const paths = await Promise.all(
      ['a', 'b'].map((name) => start(scene, `${rowsOf(scene.testCode, name, 500)}\n${shared}`)),
    );
    const states = await eventually(async () => {
      const now = await Promise.all(paths.map((path) => stateOf(path, scene.token)));
      expect(now.map(({ state }) => state)).toEqual(['DONE', 'DONE']);
      return now;
    }, 30_000);
    expect(states.map(({ rows, done }) => [rows, done])).toEqual([
      [1000, 1000],
      [1000, 1000],
    ]);
    expect(states[0].created + states[1].created).toBe(1500);
    expect(await recordsOf(scene.account)).toBe(1500);
    for (const each of workers) await each.close();
  });

  it("alternates between the imports of different accounts, so that a small import does not wait for another account's many imports", async () => {
    const [many, one] = [await app.given.scene(), await app.given.scene()];
    // The small import of the second account is sent after all imports of the first account have been sent.
    for (let number = 0; number < 20; number++) await start(many, rowsOf(many.testCode, `m${number}`, 20));
    const small = await start(one, rowsOf(one.testCode, 'small', 1));
    const workers = [await worker(), await worker()];
    await eventually(async () => expect((await stateOf(small, one.token)).state).toBe('DONE'), 30_000);
    const before = await app.given.sql(
      `SELECT import_id FROM eligibility_imports WHERE account_code = $1
         AND served_datetime < (SELECT served_datetime FROM eligibility_imports WHERE account_code = $2)`,
      [many.account, one.account],
    );
    // A few imports of the first account may come before the small import: one for each process, and one that a process
    // claimed at the same moment.
    expect(before.length).toBeLessThanOrEqual(workers.length + 1);
    for (const each of workers) await each.close();
  });

  it('alternates between the imports of two accounts even when every import has only one row', async () => {
    const [many, long] = [await app.given.scene(), await app.given.scene()];
    for (let number = 0; number < 6; number++) await start(many, rowsOf(many.testCode, `n${number}`, 1));
    for (let number = 0; number < 6; number++) await start(long, rowsOf(long.testCode, `l${number}`, 1));
    const heir = await worker();
    const order = await eventually(async () => {
      const served = await app.given.sql(
        `SELECT account_code FROM eligibility_imports WHERE state = 'DONE' ORDER BY served_datetime`,
      );
      expect(served).toHaveLength(12);
      return served.map((row) => row['account_code'] as string);
    });
    const other = (account: string) => (account === many.account ? long.account : many.account);
    expect(order).toEqual(order.map((_, turn) => (turn % 2 === 0 ? order[0] : other(order[0]))));
    await heir.close();
  });

  it('another process continues an import where a killed process stopped, and counts no row twice', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'eligibility-import-'));
    const scene = await app.given.scene();
    const path = await start(scene, rowsOf(scene.testCode, 'k', 6000));
    const env = {
      DATABASE_URL: app.databaseUrl,
      ROLES: 'delivery',
      SECRETS_KEY: app.config.secrets.keys[0].toString('base64'),
      LOG_LEVEL: 'fatal',
    };
    const killed = await ServiceProcess.start(folder, env);
    await eventually(async () => expect((await stateOf(path, scene.token)).done).toBeGreaterThan(200), 60_000);
    killed.child.kill('SIGKILL');
    const left = await stateOf(path, scene.token);
    expect(left.state).toBe('RUNNING');
    expect(left.done).toBeLessThan(6000);
    // Ends the leases of the dead process immediately, so that the test need not wait for their expiry.
    await app.given.sql('UPDATE eligibility_imports SET leased_until = NULL');
    const heir = await worker();
    const end = await eventually(async () => {
      const now = await stateOf(path, scene.token);
      expect(now.state).toBe('DONE');
      return now;
    }, 60_000);
    expect(end).toMatchObject({ rows: 6000, done: 6000, created: 6000, refused: 0 });
    expect(await recordsOf(scene.account)).toBe(6000);
    const lines = (await app.call('GET', `${path}/report`, { token: scene.token })).text.trim().split('\r\n').slice(1);
    expect(lines.map((line) => line.split(',')[0])).toEqual(Array.from({ length: 6000 }, (_, row) => String(row + 1)));
    await heir.close();
    rmSync(folder, { recursive: true });
  }, 120_000);

  it('rolls back the work of an import worker that has lost its lease', async () => {
    const scene = await app.given.scene();
    const path = await start(scene, rowsOf(scene.testCode, 'l', 100));
    await app.given.sql(`
      CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN UPDATE eligibility_imports SET lease_token = gen_random_uuid(), leased_until = 'infinity'; RETURN NULL; END $$`);
    await app.given.sql('CREATE TRIGGER lose AFTER INSERT ON eligibilities FOR EACH STATEMENT EXECUTE FUNCTION lose()');
    const heir = await worker();
    await new Promise((resolve) => setTimeout(resolve, 2500));
    expect(await stateOf(path, scene.token)).toMatchObject({ done: 0, created: 0 });
    expect(await recordsOf(scene.account)).toBe(0);
    await heir.close();
  });

  it('aborting an import keeps the effects of processed rows, and deletes the content of unprocessed rows', async () => {
    const scene = await app.given.scene();
    const path = await start(scene, rowsOf(scene.testCode, 'x', 500));
    const aborted = await app.call('POST', `${path}/abort`, { token: scene.token });
    expect([aborted.status, aborted.body.state, aborted.body.done]).toEqual([200, 'ABORTED', 0]);
    const heir = await worker();
    const other = await start(scene, rowsOf(scene.testCode, 'y', 10));
    await eventually(async () => expect((await stateOf(other, scene.token)).state).toBe('DONE'));
    expect(await recordsOf(scene.account)).toBe(10);
    expect(await app.given.sql('SELECT 1 FROM eligibility_import_chunks WHERE rows IS NOT NULL')).toEqual([]);
    const again = await app.call('POST', `${path}/abort`, { token: scene.token });
    expect([again.status, again.body.code]).toEqual([409, 'import_ended']);
    await heir.close();
  });

  it('stores no row of an import whose caller disconnects before the end of the file', async () => {
    const scene = await app.given.scene();
    const call = request(`${app.url}/accounts/${scene.account}/eligibility-imports`, {
      method: 'POST',
      headers: { ...NDJSON, authorization: `Bearer ${scene.token}` },
    });
    call.on('error', () => undefined);
    call.write(`${rowsOf(scene.testCode, 'gone', 300)}\n`);
    await eventually(async () =>
      expect(await app.given.sql('SELECT 1 FROM eligibility_import_chunks')).toHaveLength(3),
    );
    expect(await app.given.sql('SELECT state FROM eligibility_imports')).toEqual([{ state: 'RECEIVING' }]);
    call.destroy();
    await eventually(async () => expect(await app.given.sql('SELECT 1 FROM eligibility_imports')).toEqual([]));
  });

  it('an upload gets 503 if its import fails while the body is arriving, and 202 if the import is aborted meanwhile', async () => {
    const scene = await app.given.scene();
    for (const [state, status] of [
      ['FAILED', 503],
      ['ABORTED', 202],
    ] as const) {
      const call = request(`${app.url}/accounts/${scene.account}/eligibility-imports`, {
        method: 'POST',
        headers: { ...NDJSON, authorization: `Bearer ${scene.token}` },
      });
      const answered = new Promise<IncomingMessage>((resolve) => call.once('response', resolve));
      call.on('error', () => undefined);
      call.write(`${rowsOf(scene.testCode, state, 100)}\n`);
      const [{ import_id }] = await eventually(async () => {
        const rows = await app.given.sql('SELECT import_id FROM eligibility_import_chunks');
        expect(rows).toHaveLength(1);
        return rows;
      });
      if (state === 'FAILED') {
        await app.given.sql('UPDATE eligibility_imports SET leased_until = now()');
        await app.app.get(ImportWorker).sweep();
      } else await app.call('POST', `/accounts/${scene.account}/eligibility-imports/${import_id}/abort`, scene);
      call.end(rowsOf(scene.testCode, `${state}-more`, 10));
      const answer = await answered;
      let text = '';
      for await (const part of answer) text += String(part);
      expect([answer.statusCode, text]).toEqual([
        status,
        expect.stringContaining(state === 'FAILED' ? 'service_unavailable' : (import_id as string)),
      ]);
      expect(await app.given.sql('SELECT state FROM eligibility_imports')).toEqual(
        state === 'FAILED' ? [] : [{ state }],
      );
      expect(await app.given.sql('SELECT 1 FROM eligibility_import_chunks')).toEqual([]);
    }
  });

  it('an import whose process was killed while the body was arriving becomes FAILED, and its rows are deleted', async () => {
    const scene = await app.given.scene();
    const path = await start(scene, rowsOf(scene.testCode, 'f', 10));
    await app.given.sql(`UPDATE eligibility_imports SET state = 'RECEIVING', rows = 0, leased_until = now()`);
    await app.app.get(ImportWorker).sweep();
    expect(await stateOf(path, scene.token)).toMatchObject({ state: 'FAILED', done: 0 });
    expect(await app.given.sql('SELECT 1 FROM eligibility_import_chunks')).toEqual([]);
  });
});
