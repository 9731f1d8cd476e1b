import pg from 'pg';
import { openApiDocument } from '../../src/openapi/document';
import { eventually } from '../support/eventually';
import { startApp, type TestApp } from '../support/app';

let app: TestApp;

beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());

describe('large reads of an account', () => {
  const CALLS = 8;
  const WAIT_MS = 30_000;

  it.each([
    ['lists', 'eligibilities?limit=200', 'eligibilities'],
    ['exports', 'eligibilities.csv', 'eligibilities'],
    ['reads of the feed', 'changes?limit=200', 'changes'],
  ])(
    'at most two large reads of one account run in the database at a time: %s',
    async (_kind, path, table) => {
      const [reader, other] = [await app.given.scene(), await app.given.scene()];
      const locker = new pg.Client({ connectionString: app.databaseUrl });
      await locker.connect();
      await locker.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
      const get = ({ account, token }: typeof reader) => app.call('GET', `/accounts/${account}/${path}`, { token });
      const waiting = async () =>
        Number(
          (
            await app.given.sql(`SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted AND locktype = 'relation'
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
          )[0]['count'],
        );
      const answers = Array.from({ length: CALLS }, () => get(reader));
      await eventually(async () => expect(await waiting()).toBe(2), WAIT_MS);
      // A read for a second account starts immediately, although reads for the first account are still queued.
      answers.push(get(other));
      await eventually(async () => expect(await waiting()).toBe(3), WAIT_MS);
      await locker.query('ROLLBACK');
      await locker.end();
      // On a slow machine, the service refuses some of the reads, because they have waited too long for the lock that
      // the test holds.
      await Promise.allSettled(answers);
    },
    120_000,
  );
});

it('HEAD of every route that accepts GET returns headers without a body', async () => {
  const scene = await app.given.scene();
  const record = await app.given.eligibility(scene);
  const body = 'test_code,candidate_id,first_name,last_name\n';
  const headers = { 'content-type': 'text/csv' };
  const path = `/accounts/${scene.account}/eligibility-imports`;
  const { import_id } = (await app.call('POST', path, { token: scene.token, body, headers })).body;
  const known: Record<string, string> = {
    account_code: scene.account,
    candidate_id: record['candidate'].candidate_id,
    test_code: scene.testCode,
    import_id,
  };
  const operator = await app.given.operator();
  const { paths } = openApiDocument(app.app, app.config);
  const reads = Object.keys(paths).filter((template) => 'get' in paths[template]);
  expect(reads.length).toBeGreaterThan(50);
  const statuses = new Map<string, number>();
  for (const template of reads) {
    const address = app.url + template.replace(/\{(\w+)\}/g, (_, name: string) => known[name] ?? 'none');
    const ask = (method: string) =>
      fetch(address, {
        method,
        redirect: 'manual',
        headers: { authorization: `Bearer ${operator}` },
        signal: AbortSignal.timeout(20_000),
      });
    const answer = await ask('HEAD').catch((error: unknown) => {
      throw new Error(`HEAD ${template}: ${String(error)}`);
    });
    expect([template, await answer.text()]).toEqual([template, '']);
    statuses.set(template, answer.status);
  }
  for (const template of [
    '/admin/events',
    '/accounts/{account_code}/eligibilities.csv',
    '/accounts/{account_code}/eligibility-imports/{import_id}/report',
    '/accounts/{account_code}/candidates/{candidate_id}/tests/{test_code}/results',
    '/admin/unmatched-results',
    '/admin/accounts/{account_code}/candidates/{candidate_id}/export',
  ])
    expect([template, statuses.get(template)]).toEqual([template, 200]);
}, 60_000);
