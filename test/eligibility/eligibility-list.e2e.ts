import pg from 'pg';
import { nextPath } from '../support/answers';
import { startApp, type TestApp } from '../support/app';
import { whatIsAsked } from '../support/statements';

/**
 * Measures how many storage pages PostgreSQL reads for one page of the list of an account with 60,000 records. Each
 * statement of the request is repeated with EXPLAIN on a new connection that has not executed the statement before.
 */
const RECORDS = 60_000;
const MOST_PAGES = 500;

let app: TestApp;
let scene: Awaited<ReturnType<TestApp['given']['scene']>>;
let empty: string;
let fresh: pg.Client;

beforeAll(async () => {
  app = await startApp();
  scene = await app.given.scene();
  empty = await app.given.test(scene.account);
  await app.given.records(RECORDS, scene, {
    status: `CASE WHEN n % 2 = 0 THEN 'ELIGIBLE' ELSE 'COMPLETED' END`,
    eligibility_end_date: `now() + n * interval '1 minute'`,
    updated_datetime: `'2020-01-01Z'`,
    client_eligibility_id: `'CL-' || n`,
  });
  await app.given.eligibility({ ...scene, testCode: await app.given.test(scene.account) });
  await app.given.sql('ANALYZE eligibilities');
});
afterAll(() => app.close());
beforeEach(async () => {
  fresh = new pg.Client({ connectionString: app.databaseUrl });
  await fresh.connect();
});
afterEach(() => fresh.end());

interface Plan {
  'Shared Hit Blocks': number;
  'Shared Read Blocks': number;
}

/**
 * Sends a request for the list. Returns the rows of the response, the number of SQL statements that the request
 * executed, and the number of storage pages that these statements read.
 */
async function pagesOf(query: string): Promise<{ rows: number; statements: number; pages: number }> {
  const { done: answer, asked } = await whatIsAsked(app, () =>
    app.call('GET', `/accounts/${scene.account}/eligibilities?${query}`, { token: scene.token }),
  );
  const statements = asked.filter(([{ text }]) => text.includes('eligibilities'));
  expect(answer.status).toBe(200);
  let pages = 0;
  for (const [{ text }, values] of statements) {
    const { rows } = await fresh.query<{ 'QUERY PLAN': { Plan: Plan }[] }>(
      `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`,
      values,
    );
    const { Plan: plan } = rows[0]['QUERY PLAN'][0];
    pages += plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
  }
  return { rows: (answer.body as unknown[]).length, statements: statements.length, pages };
}

describe('the list of an account', () => {
  it.each([
    ['limit=50', 50],
    ['limit=50&status=active', 50],
    ['limit=50&status=completed', 50],
    ['status=pending', 0],
    ['status=expired', 0],
    ['status=inactive&limit=200', 200],
    ['test_code=EMPTY', 0],
    ['test_code=EMPTY&status=active', 0],
    ['test_code=TEST&status=absent', 0],
    ['test_code=TEST&status=inactive', 50],
    ['updated_since=2099-01-01T00:00:00Z', 0],
    ['updated_since=2021-01-01T00:00:00Z', 1],
    ['client_eligibility_id=NOBODY', 0],
    ['client_eligibility_id=CL-7', 1],
    ['client_eligibility_id=cl-7', 0],
  ])('the list of eligibilities reads no more records than the requested page has: %s', async (query, rows) => {
    const found = await pagesOf(query.replace('EMPTY', empty).replace('TEST', scene.testCode));
    expect(found.rows).toBe(rows);
    expect(found.pages).toBeLessThan(MOST_PAGES);
  });

  it('the list of eligibilities reads only the records of the requested page, even in the middle of the list', async () => {
    const first = await app.call('GET', `/accounts/${scene.account}/eligibilities?limit=200&status=eligible`, {
      token: scene.token,
    });
    const next = new URL(/<([^>]+)>/.exec(first.headers.get('link')!)![1]);
    const { rows, pages } = await pagesOf(next.searchParams.toString());
    expect(rows).toBe(200);
    expect(pages).toBeLessThan(MOST_PAGES);
  });
});

describe('the list filtered by updated_since', () => {
  const CHANGED = 1_500;

  it('one SQL statement filters, sorts and reads a page of the list of eligibilities', async () => {
    await app.given.sql(
      `UPDATE eligibilities SET updated_datetime = '2022-01-01Z' WHERE position % ${RECORDS / CHANGED} = 0 AND account_code = $1`,
      [scene.account],
    );
    await app.given.sql('ANALYZE eligibilities');
    const { rows, statements, pages } = await pagesOf('limit=50&updated_since=2021-12-01T00:00:00Z');
    expect(rows).toBe(50);
    expect(statements).toBe(1);
    expect(pages).toBeLessThan(CHANGED + MOST_PAGES);
  });

  it('the list filtered by updated_since returns every changed record once, page by page, newest change first', async () => {
    const known = await app.given.sql(
      `SELECT svc_eligiblity_id AS id FROM eligibilities WHERE account_code = $1 AND updated_datetime > '2021-12-01Z' ORDER BY position DESC`,
      [scene.account],
    );
    const seen: string[] = [];
    let path: string | undefined =
      `/accounts/${scene.account}/eligibilities?limit=200&updated_since=2021-12-01T00:00:00Z`;
    while (path) {
      const { body, headers } = await app.call('GET', path, { token: scene.token });
      seen.push(...(body as { svc_eligiblity_id: string }[]).map((record) => record.svc_eligiblity_id));
      path = nextPath({ headers });
    }
    expect(seen).toHaveLength(CHANGED + 1);
    expect(seen).toEqual(known.map((row) => row['id']));
  });
});

describe('a record whose window is over', () => {
  it('a record is listed and filtered as EXPIRED as soon as its window is over, even before its expiry is stored', async () => {
    const own = await app.given.scene();
    const ids: string[] = [];
    for (let n = 0; n < 6; n++) ids.unshift((await app.given.eligibility(own))['svc_eligiblity_id'] as string);
    const list = async (query: string) =>
      (await app.call('GET', `/accounts/${own.account}/eligibilities?${query}`, { token: own.token })).body.map(
        (record: { svc_eligiblity_id: string; status: string }) => [
          ids.indexOf(record.svc_eligiblity_id),
          record.status,
        ],
      );
    const over = (index: number, status: string) =>
      app.given.sql(
        `UPDATE eligibilities SET status = $2, eligibility_end_date = now() - interval '1 second' WHERE svc_eligiblity_id = $1`,
        [ids[index], status],
      );
    await over(1, 'EXPIRED');
    await over(2, 'ELIGIBLE');
    await over(4, 'ELIGIBLE');
    for (const test of ['', `&test_code=${own.testCode}`]) {
      expect(await list(`status=expired${test}`)).toEqual([1, 2, 4].map((index) => [index, 'EXPIRED']));
      expect(await list(`status=active${test}`)).toEqual([0, 3, 5].map((index) => [index, 'ELIGIBLE']));
      expect(await list(`status=all&limit=3${test}`)).toEqual([
        [0, 'ELIGIBLE'],
        [1, 'EXPIRED'],
        [2, 'EXPIRED'],
      ]);
    }
  });
});
