import { setTimeout as pause } from 'node:timers/promises';
import type { Fault } from '../../src/platform/errors';
import { startApp, type TestApp } from '../support/app';

interface TestBody {
  test_code: string;
  portions: { portion_code: string }[];
}

let app: TestApp;
let operator: string;

beforeAll(async () => {
  app = await startApp();
  operator = await app.given.operator();
});
afterAll(() => app.close());

const admin = (method: string, path: string, body?: unknown) =>
  app.call(method, `/admin/accounts${path}`, { token: operator, body });
const lastAudit = async () => (await app.call('GET', '/admin/audit?limit=1', { token: operator })).body[0];
const portions = (...codes: string[]) => codes.map((portion_code) => ({ portion_code, portion_name: null }));
const codesOf = (test: TestBody) => test.portions.map((portion) => portion.portion_code);

const FULL = {
  name: 'Registered Nurse',
  exam_code: 'EX-1',
  launch_url: 'https://driver.example/start?lang=en',
  duration_minutes: 180,
  change_cutoff_hours: 24,
  launch_minutes_before: 30,
  retake: { wait_days: 30, max_attempts: 3, period_days: 365 },
  portions: [
    { portion_code: 'THEORY', portion_name: 'Theory' },
    { portion_code: 'PRACTICE', portion_name: null },
  ],
};

describe('a test', () => {
  let account: string;

  beforeAll(async () => {
    account = await app.given.account();
  });

  it('creates and replaces a test by PUT, and clears omitted members', async () => {
    const made = await admin('PUT', `/${account}/tests/RN-1`, FULL);
    expect([made.status, made.body]).toEqual([
      200,
      { account_code: account, test_code: 'RN-1', ...FULL, warnings: [] },
    ]);
    expect(await lastAudit()).toMatchObject({ action: 'test.put', subject: `${account}/RN-1` });

    const replaced = await admin('PUT', `/${account}/tests/RN-1`, { name: 'RN', portions: [{ portion_code: 'ONE' }] });
    expect(replaced.body).toEqual({
      account_code: account,
      test_code: 'RN-1',
      name: 'RN',
      exam_code: null,
      launch_url: null,
      duration_minutes: null,
      change_cutoff_hours: null,
      launch_minutes_before: null,
      retake: null,
      portions: portions('ONE'),
      warnings: [],
    });
    expect((await admin('GET', `/${account}/tests/RN-1`)).body).toEqual(replaced.body);
  });

  it('accepts a PUT of a test with the body that GET returned', async () => {
    await admin('PUT', `/${account}/tests/RN-2`, FULL);
    const { body } = await admin('GET', `/${account}/tests/RN-2`);
    expect((await admin('PUT', `/${account}/tests/RN-2`, body)).body).toEqual(body);
  });

  it("shows every member of a test's retake policy, with null for members that are not set", async () => {
    const retake = { wait_days: null, max_attempts: 2, period_days: null };
    const made = await admin('PUT', `/${account}/tests/RN-4`, { ...FULL, retake: { max_attempts: 2 } });
    expect(made.body.retake).toEqual(retake);
    expect((await admin('GET', `/${account}/tests/RN-4`)).body).toEqual(made.body);
    expect((await admin('GET', `/${account}/tests`)).body).toContainEqual(made.body);
  });

  it('accepts exam and portion codes that some systems refuse, and returns a warning for each', async () => {
    const body = { name: 'RN', exam_code: 'EX 1/Ü', portions: portions('A', 'B C') };
    const { status, body: made } = await admin('PUT', `/${account}/tests/RN-W`, body);
    expect([status, made.exam_code, codesOf(made as TestBody)]).toEqual([200, 'EX 1/Ü', ['A', 'B C']]);
    expect(made.warnings).toEqual([
      {
        pointer: '/exam_code',
        code: 'code_not_portable',
        detail: 'Some systems refuse blanks, slashes and characters beyond ASCII in a code.',
      },
      { pointer: '/portions/1/portion_code', code: 'code_not_portable', detail: expect.stringContaining('blanks') },
    ]);
    expect((await admin('GET', `/${account}/tests/RN-W`)).body).toEqual(made);
  });

  it('keeps the portions of a test in the order given in the PUT request', async () => {
    await admin('PUT', `/${account}/tests/RN-3`, { name: 'RN', portions: portions('A', 'B', 'C') });
    await admin('PUT', `/${account}/tests/RN-3`, { name: 'RN', portions: portions('C', 'D', 'A') });
    expect(codesOf((await admin('GET', `/${account}/tests/RN-3`)).body)).toEqual(['C', 'D', 'A']);
  });

  it('lists tests, each with its own portions', async () => {
    account = await app.given.account();
    await admin('PUT', `/${account}/tests/T-1`, { name: 'one', portions: portions('A', 'B') });
    await admin('PUT', `/${account}/tests/T-2`, { name: 'two', portions: portions('B') });
    const { body } = await admin('GET', `/${account}/tests`);
    expect(body.map((test: TestBody) => [test.test_code, codesOf(test)])).toEqual([
      ['T-2', ['B']],
      ['T-1', ['A', 'B']],
    ]);
  });

  it.each([
    ['without portions', { portions: undefined }, '/portions', 'required'],
    ['with no portion', { portions: [] }, '/portions', 'too_few'],
    [
      'with 51 portions',
      { portions: portions(...Array.from({ length: 51 }, (_, i) => `P${i}`)) },
      '/portions',
      'too_many',
    ],
    [
      'with a portion twice',
      { portions: portions('A', 'B', 'A') },
      '/portions/2/portion_code',
      'portion_code_repeated',
    ],
    ['with a portion without code', { portions: [{ portion_name: 'x' }] }, '/portions/0/portion_code', 'required'],
    ['with a portion that is no object', { portions: ['A'] }, '/portions/0', 'type_invalid'],
    ['with portions that are no list', { portions: { portion_code: 'A' } }, '/portions', 'type_invalid'],
    [
      'with an unknown member of a portion',
      { portions: [{ portion_code: 'A', nam: 1 }] },
      '/portions/0/nam',
      'unknown_field',
    ],
    ['with a launch URL of another scheme', { launch_url: 'ftp://driver.example/' }, '/launch_url', 'url_invalid'],
    ['with a script for a launch URL', { launch_url: 'javascript:alert(1)' }, '/launch_url', 'url_invalid'],
    ['with a relative launch URL', { launch_url: '/start' }, '/launch_url', 'url_invalid'],
    ['with a launch URL without host', { launch_url: 'https://' }, '/launch_url', 'url_invalid'],
    ['with a launch URL in blanks', { launch_url: ' https://driver.example ' }, '/launch_url', 'url_invalid'],
    ['of no minutes', { duration_minutes: 0 }, '/duration_minutes', 'out_of_range'],
    ['of a broken number of minutes', { duration_minutes: 1.5 }, '/duration_minutes', 'type_invalid'],
    ['with an empty exam code', { exam_code: '' }, '/exam_code', 'blank'],
    ['with an exam code of 51 characters', { exam_code: 'e'.repeat(51) }, '/exam_code', 'too_long'],
    ['without a name', { name: undefined }, '/name', 'required'],
    ['with an unknown member', { launchUrl: 'https://x.example' }, '/launchUrl', 'unknown_field'],
  ])('refuses a test %s', async (_title, change, pointer, code) => {
    const answer = await admin('PUT', `/${account}/tests/BAD`, { ...FULL, ...change });
    expect([answer.status, answer.body.code]).toEqual([400, 'validation_error']);
    expect(answer.body.errors).toContainEqual(expect.objectContaining({ pointer, code }));
  });

  it('reports all faults in the portions of a test in one response', async () => {
    const answer = await admin('PUT', `/${account}/tests/BAD`, {
      name: 'T',
      portions: [{ portion_code: 'A' }, { portion_code: 'A', portion_name: '' }, { portion_nam: 'x' }, 7],
    });
    expect(answer.body.errors.map((fault: Fault) => [fault.pointer, fault.code])).toEqual(
      expect.arrayContaining([
        ['/portions/1/portion_code', 'portion_code_repeated'],
        ['/portions/1/portion_name', 'blank'],
        ['/portions/2/portion_nam', 'unknown_field'],
        ['/portions/2/portion_code', 'required'],
        ['/portions/3', 'type_invalid'],
      ]),
    );
    expect(answer.body.errors).toHaveLength(5);
  });

  it.each(['T_1', 'T.1', 'T 1', 'Té', 'T'.repeat(51)])('refuses the invalid test code %s', async (code) => {
    const answer = await admin('PUT', `/${account}/tests/${encodeURIComponent(code)}`, FULL);
    expect([answer.status, answer.body.errors[0].parameter]).toEqual([400, 'test_code']);
  });

  it('refuses a test for an unknown account', async () => {
    const answer = await admin('PUT', '/ABCDEFGH2345/tests/T-1', FULL);
    expect([answer.status, answer.body.code]).toEqual([400, 'account_not_found']);
  });
});

describe('a test in use', () => {
  const TWO = { portions: portions('A', 'B') };
  const removal = (account: string, testCode: string, ...kept: string[]) =>
    admin('PUT', `/${account}/tests/${testCode}`, { name: 'T', portions: portions(...kept) });

  it('refuses to remove a portion of a test while an eligibility uses the portion', async () => {
    const scene = await app.given.scene(TWO);
    await app.given.eligibility(scene, { portion_codes: ['A'] });
    const before = (await admin('GET', `/${scene.account}/tests/${scene.testCode}`)).body;
    const answer = await removal(scene.account, scene.testCode, 'B');
    expect([answer.status, answer.body.code]).toEqual([403, 'forbidden_operation']);
    expect(answer.body.errors).toEqual([expect.objectContaining({ pointer: '/portions', code: 'portion_in_use' })]);
    expect((await admin('GET', `/${scene.account}/tests/${scene.testCode}`)).body).toEqual(before);
  });

  it('removes a portion of a test if no eligibility uses the portion, or only a cancelled one', async () => {
    const scene = await app.given.scene(TWO);
    const record = await app.given.eligibility(scene, { portion_codes: ['A'] });
    expect((await removal(scene.account, scene.testCode, 'A', 'C')).status).toBe(200);
    await app.call(
      'DELETE',
      `/accounts/${scene.account}/candidates/${record['candidate'].candidate_id}/tests/${scene.testCode}`,
      { token: scene.token },
    );
    expect((await removal(scene.account, scene.testCode, 'C')).status).toBe(200);
  });

  it('refuses to delete a test after an eligibility has been created for the test', async () => {
    const scene = await app.given.scene();
    await app.given.eligibility(scene);
    const answer = await admin('DELETE', `/${scene.account}/tests/${scene.testCode}`);
    expect([answer.status, answer.body.code]).toEqual([403, 'forbidden_operation']);
    expect((await admin('GET', `/${scene.account}/tests/${scene.testCode}`)).body.portions).toHaveLength(1);
  });

  it('refuses to delete a test while a voucher names it', async () => {
    const { account, testCode } = await app.given.scene();
    const voucher = await app.given.voucher(account, { test_codes: [testCode] });
    expect((await admin('DELETE', `/${account}/tests/${testCode}`)).status).toBe(403);
    expect((await admin('DELETE', `/${account}/vouchers/${voucher}`)).status).toBe(204);
    expect((await admin('DELETE', `/${account}/tests/${testCode}`)).status).toBe(204);
    expect(await lastAudit()).toMatchObject({ action: 'test.delete', subject: `${account}/${testCode}` });
    expect((await admin('DELETE', `/${account}/tests/${testCode}`)).status).toBe(404);
  });
});

describe('simultaneous changes of a test', () => {
  it('the removal of a portion of a test waits for a running transaction that creates an eligibility', async () => {
    const scene = await app.given.scene({ portions: portions('A', 'B') });
    const record = await app.given.eligibility(scene, { portion_codes: ['B'] });
    const client = await app.database.pool.connect();
    try {
      await client.query('BEGIN');
      await client.query(
        `INSERT INTO eligibilities OVERRIDING USER VALUE
         SELECT (jsonb_populate_record(record, $2)).* FROM eligibilities record WHERE svc_eligiblity_id = $1`,
        [record['svc_eligiblity_id'], { svc_eligiblity_id: 'BEFREE22', candidate_id: 'C-LATE', portion_codes: ['A'] }],
      );
      let answered = false;
      const removal = admin('PUT', `/${scene.account}/tests/${scene.testCode}`, {
        name: 'T',
        portions: portions('B'),
      }).finally(() => (answered = true));
      await pause(300);
      expect(answered).toBe(false);
      await client.query('COMMIT');
      expect((await removal).status).toBe(403);
    } finally {
      client.release(true);
    }
  });

  it('stores one complete definition when twenty callers send PUT for a test at once', async () => {
    const account = await app.given.account();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        admin('PUT', `/${account}/tests/RACE`, {
          name: `Name ${index}`,
          portions: portions(`P${index}`, `Q${index}`, 'SHARED'),
        }),
      ),
    );
    expect(answers.map((answer) => answer.status)).toEqual(Array(20).fill(200));
    const { body } = await admin('GET', `/${account}/tests/RACE`);
    const winner = body.name.replace('Name ', '');
    expect(codesOf(body)).toEqual([`P${winner}`, `Q${winner}`, 'SHARED']);
  });

  it('answers simultaneous PUT and DELETE requests for a test without a server error', async () => {
    const account = await app.given.account();
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        index % 2
          ? admin('DELETE', `/${account}/tests/RACE`)
          : admin('PUT', `/${account}/tests/RACE`, { name: 'T', portions: portions('A', `P${index}`) }),
      ),
    );
    for (const [index, { status }] of answers.entries()) expect(index % 2 ? [204, 404] : [200]).toContain(status);
  });

  it('a voucher never names a deleted test, even if the voucher is created while the test is being deleted', async () => {
    for (let round = 0; round < 10; round++) {
      const { account, testCode } = await app.given.scene();
      const [deleted, put] = await Promise.all([
        admin('DELETE', `/${account}/tests/${testCode}`),
        admin('PUT', `/${account}/vouchers/V`, { discount_type: 'PERCENT', discount_value: 5, test_codes: [testCode] }),
      ]);
      expect([
        [204, 400],
        [403, 200],
      ]).toContainEqual([deleted.status, put.status]);
    }
  });
});
