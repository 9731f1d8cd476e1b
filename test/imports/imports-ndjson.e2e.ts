import { eventually } from '../support/eventually';
import { startApp, type TestApp } from '../support/app';

type Scene = Awaited<ReturnType<TestApp['given']['scene']>>;

describe('an import of NDJSON', () => {
  let app: TestApp;
  let scene: Scene;

  beforeAll(async () => (app = await startApp()));
  afterAll(() => app.close());
  beforeEach(async () => (scene = await app.given.scene()));

  const send = (body: string | Buffer) =>
    app.call('POST', `/accounts/${scene.account}/eligibility-imports`, {
      token: scene.token,
      body,
      headers: { 'content-type': 'application/x-ndjson' },
    });
  const imported = async (lines: (object | string)[]) => {
    const text = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n');
    const answer = await send(text);
    expect([answer.status, answer.text]).toEqual([202, expect.stringContaining('import_id')]);
    const path = `/accounts/${scene.account}/eligibility-imports/${answer.body.import_id}`;
    const state = await eventually(async () => {
      const { body } = await app.call('GET', path, { token: scene.token });
      expect(body.state).toBe('DONE');
      return body;
    }, 30_000);
    const report = await app.call('GET', `${path}/report`, { token: scene.token });
    return { ...state, lines: report.text.trim().split('\r\n').slice(1) };
  };

  it('each line of an NDJSON import contains the members of the Eligibility Model and an optional action', async () => {
    const body = app.given.eligibilityBody(scene.testCode, { candidate: { candidate_id: 'N-1', city: 'Rome' } });
    const result = await imported([
      body,
      { ...body, candidate: { ...body['candidate'], city: null }, action: 'UPDATE' },
      '',
      { action: null, test_code: scene.testCode, candidate: { candidate_id: 'N-2', first_name: 'A', last_name: 'B' } },
      { action: 'CANCEL', test_code: scene.testCode, candidate: { candidate_id: 'N-2' } },
    ]);
    expect(result).toMatchObject({ rows: 4, done: 4, created: 2, updated: 1, cancelled: 1, refused: 0 });
    const [record] = (await app.call('GET', `/accounts/${scene.account}/candidates/N-1`, { token: scene.token })).body;
    expect(record.candidate).toMatchObject({ city: null, email: 'ada@example.org' });
  });

  it('an NDJSON import refuses only the rows that are not a JSON object, have an unknown member or lack a required member', async () => {
    const sound = app.given.eligibilityBody(scene.testCode);
    const result = await imported([
      '{"candidate":',
      '[1]',
      '{"candidate":{"candidate_id":"A","candidate_id":"B"}}',
      { ...sound, colour: 'blue' },
      { ...sound, action: 'DROP' },
      { action: 'UPDATE', candidate: {} },
      { action: 'CANCEL', test_code: scene.testCode, candidate: { candidate_id: 'N-9', country: 'XX' } },
      sound,
    ]);
    expect(result).toMatchObject({ rows: 8, created: 1, refused: 7 });
    expect(result.lines.map((line: string) => line.split(',').slice(0, 4).join(' '))).toEqual([
      '1 REFUSED malformed_json ',
      '2 REFUSED type_invalid ',
      '3 REFUSED malformed_json ',
      '4 REFUSED unknown_field /colour',
      '5 REFUSED action_invalid /action',
      '6 REFUSED required /candidate/candidate_id',
      '6 REFUSED required /candidate/first_name',
      '6 REFUSED required /candidate/last_name',
      '6 REFUSED required /test_code',
      '7 REFUSED country_invalid /candidate/country',
      '8 CREATED  ',
    ]);
  });

  it.each([
    ['bytes that are not UTF-8', Buffer.from('{"a":"\xff"}', 'latin1'), 400, 'malformed_ndjson'],
    ['a line of 300 KiB', `{"a":"${'x'.repeat(300 * 1024)}"}`, 413, 'payload_too_large'],
  ])('an import refuses a whole NDJSON file that contains %s', async (_what, body, status, code) => {
    const answer = await send(body);
    expect([answer.status, answer.body.code]).toEqual([status, code]);
  });

  it('completes an import of a file without rows immediately', async () => {
    expect(await imported([])).toMatchObject({ state: 'DONE', rows: 0, done: 0, lines: [] });
  });

  it('an import processes many rows in order when later rows refer to the records of earlier rows', async () => {
    const rows = Array.from({ length: 1000 }, (_, number) => ({
      action: number % 5 === 4 ? 'UPDATE' : 'ADD',
      test_code: scene.testCode,
      candidate: {
        candidate_id: `M-${number % 5 === 4 ? number - 4 : number}`,
        first_name: `F${number}`,
        last_name: 'L',
      },
    }));
    const result = await imported(rows);
    expect(result).toMatchObject({ rows: 1000, created: 800, updated: 200, refused: 0 });
    const [{ count }] = await app.given.sql(
      `SELECT count(*) FROM eligibilities WHERE account_code = $1 AND first_name = 'F' || (substr(candidate_id, 3)::int + 4)`,
      [scene.account],
    );
    expect(Number(count)).toBe(200);
  });
});
