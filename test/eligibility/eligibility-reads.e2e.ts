import { nextUrl } from '../support/answers';
import { startApp, type TestApp } from '../support/app';
import { dateTime } from '../support/given';

let app: TestApp;
let scene: Awaited<ReturnType<TestApp['given']['scene']>>;
let candidate: string;
let otherTest: string;
/**
 * The ids of the records of one candidate, newest first. The records have these statuses: PENDING, SCHEDULED, EXPIRED
 * (the window is over, but the status is not stored), ABSENT, CANCELLED, COMPLETED, EXPIRED (stored).
 */
const ids: string[] = [];

beforeAll(async () => {
  app = await startApp();
  scene = await app.given.scene();
  otherTest = await app.given.test(scene.account);
  const reviewed = await app.given.accommodation(scene.account, true);
  candidate = app.given.unique('C-');
  const add = async (testCode: string, more: object = {}) => {
    const record = await app.given.eligibility(
      { ...scene, testCode },
      { candidate: { candidate_id: candidate, ...more } },
    );
    ids.unshift(record['svc_eligiblity_id'] as string);
    return record;
  };
  for (const status of ['EXPIRED', 'COMPLETED', 'CANCELLED', 'ABSENT']) {
    await add(scene.testCode);
    await app.given.sql('UPDATE eligibilities SET status = $2 WHERE svc_eligiblity_id = $1', [ids[0], status]);
  }
  await add(otherTest);
  await app.given.sql(`UPDATE eligibilities SET eligibility_end_date = now() WHERE svc_eligiblity_id = $1`, [ids[0]]);
  await app.given.booking(scene, await add(scene.testCode));
  const third = await app.given.test(scene.account);
  await add(third, { special_accommodations: [reviewed] });
});
afterAll(() => app.close());

const get = (path: string, token = scene.token) => app.call('GET', `/accounts/${scene.account}${path}`, { token });
const idsOf = (answer: { body: any }) =>
  (answer.body as { svc_eligiblity_id: string }[]).map((r) => r.svc_eligiblity_id);

describe('§5 Read', () => {
  it('GET candidates/{id} returns every record of the candidate, newest first', async () => {
    const answer = await get(`/candidates/${candidate}`);
    expect([answer.status, idsOf(answer)]).toEqual([200, ids]);
    expect(answer.body.map((record: any) => record.status)).toEqual(
      'PENDING SCHEDULED EXPIRED ABSENT CANCELLED COMPLETED EXPIRED'.split(' '),
    );
  });

  it('GET …/tests/{test_code} returns the records of the test, newest first', async () => {
    expect(idsOf(await get(`/candidates/${candidate}/tests/${otherTest}`))).toEqual([ids[2]]);
    expect(idsOf(await get(`/candidates/${candidate}/tests/${scene.testCode}`))).toEqual(
      [1, 3, 4, 5, 6].map((at) => ids[at]),
    );
  });

  it.each([
    ['active', [0, 1]],
    ['INACTIVE', [2, 3, 4, 5, 6]],
    ['aLL', [0, 1, 2, 3, 4, 5, 6]],
    ['expired', [2, 6]],
    ['Scheduled', [1]],
    ['PENDING', [0]],
    ['absent', [3]],
    ['cancelled', [4]],
    ['completed', [5]],
    ['ELIGIBLE', []],
  ])('GET …/eligibilities?status=%s returns the records in this status', async (status, expected) => {
    const answer = await get(`/candidates/${candidate}/eligibilities?status=${status}`);
    expect([answer.status, idsOf(answer)]).toEqual([200, expected.map((at) => ids[at])]);
  });

  it.each([
    '?status=',
    '?status=live',
    '?status=active&status=active',
    '?status=active%20',
    '?status=active,inactive',
    '?status=elıgible',
    '?status=%00',
    '?status=%FF',
  ])('GET …/eligibilities%s answers 400 invalid_status_filter', async (query) => {
    const answer = await get(`/candidates/${candidate}/eligibilities${query}`);
    expect([answer.status, answer.body.code]).toEqual([400, 'invalid_status_filter']);
    expect(answer.body.errors).toEqual([expect.objectContaining({ parameter: 'status' })]);
  });

  it.each<[string, string[]]>([
    ['/candidates/C/eligibilities?stauts=active&status=', ['stauts unknown_parameter', 'status invalid_status_filter']],
    [
      '/candidates/a%5Cb/eligibilities?status=live',
      ['candidate_id candidate_id_invalid', 'status invalid_status_filter'],
    ],
    ['/eligibilities?status=bogus&limit=0', ['limit limit_invalid', 'status invalid_status_filter']],
    [
      '/eligibilities?status=bogus&cursor=x&updated_since=x&statsu=x',
      [
        'statsu unknown_parameter',
        'cursor cursor_invalid',
        'updated_since date_time_invalid',
        'status invalid_status_filter',
      ],
    ],
  ])(
    'GET %s answers 400 invalid_status_filter, and reports every other fault in the same response',
    async (path, faults) => {
      const { status, body } = await get(path);
      expect([status, body.code]).toEqual([400, 'invalid_status_filter']);
      expect(body.errors.map(({ parameter, code }: any) => `${parameter} ${code}`).sort()).toEqual([...faults].sort());
      for (const { code, detail } of body.errors)
        if (code === 'unknown_parameter') expect(detail).toContain('Did you mean "status"?');
    },
  );

  it.each(['stauts', 'Status', 'status[]', 'stat'])(
    'GET …/eligibilities?%s=active answers 400 unknown_parameter',
    async (name) => {
      const { status, body } = await get(`/candidates/C/eligibilities?${name}=active`);
      expect([status, body.code]).toEqual([400, 'validation_error']);
      expect(body.errors).toMatchObject([{ parameter: name, code: 'unknown_parameter' }]);
      expect(body.errors[0].detail).toContain('Did you mean "status"?');
    },
  );

  it('GET …/eligibilities without a status returns all records', async () => {
    const answer = await get(`/candidates/${candidate}/eligibilities`);
    expect([answer.status, idsOf(answer)]).toEqual([200, ids]);
  });

  it('every read route answers 404 candidate_not_found for a candidate that the account never had', async () => {
    const elsewhere = await app.given.scene();
    for (const path of ['', '/eligibilities?status=all', `/tests/${scene.testCode}`]) {
      const unknown = await get(`/candidates/nobody${path}`);
      expect([unknown.status, unknown.body.code]).toEqual([404, 'candidate_not_found']);
      const foreign = await app.call('GET', `/accounts/${elsewhere.account}/candidates/${candidate}${path}`, {
        token: elsewhere.token,
      });
      expect([foreign.status, foreign.body.code]).toEqual([404, 'candidate_not_found']);
    }
  });

  it('a request for a candidate without a record for the test is answered with 404 eligibility_not_found, and test codes are case-sensitive', async () => {
    for (const test of ['NEVER', scene.testCode.toLowerCase()]) {
      const answer = await get(`/candidates/${candidate}/tests/${test}`);
      expect([answer.status, answer.body.code]).toEqual([404, 'eligibility_not_found']);
    }
    expect((await get(`/candidates/${candidate.toLowerCase()}`)).body.code).toBe('candidate_not_found');
  });

  it('GET eligibilities/{svc_id} returns one record in any status', async () => {
    for (const id of ids) {
      const answer = await get(`/eligibilities/${id}`);
      expect([answer.status, answer.body.svc_eligiblity_id, answer.body.candidate.candidate_id]).toEqual([
        200,
        id,
        candidate,
      ]);
    }
    expect((await get(`/eligibilities/${ids[0]}`)).body).toEqual((await get(`/candidates/${candidate}`)).body[0]);
  });

  it('GET eligibilities/{svc_id} answers the same 404 to an unknown id and to an id of another account', async () => {
    const other = await app.given.scene();
    const { svc_eligiblity_id: theirs } = await app.given.eligibility(other);
    for (const id of ['NOBODY22', theirs, ids[0].toLowerCase(), 'x'.repeat(50)]) {
      const answer = await get(`/eligibilities/${id}`);
      expect([id, answer.status, answer.body.code]).toEqual([id, 404, 'eligibility_not_found']);
    }
    expect((await get(`/eligibilities/${ids[0]}?x=1`)).body.errors).toEqual([
      expect.objectContaining({ parameter: 'x', code: 'unknown_parameter' }),
    ]);
    const launch = await app.given.token([scene.account], ['launch']);
    expect((await get(`/eligibilities/${ids[0]}`, launch)).status).toBe(403);
  });

  it('a candidate_id may contain characters that a path must encode, except for an encoded slash, which is refused', async () => {
    const id = 'Zoë ?#&=+;,:@$!*()%41';
    const record = await app.given.eligibility(scene, { candidate: { candidate_id: id } });
    expect(idsOf(await get(`/candidates/${encodeURIComponent(id)}`))).toEqual([record['svc_eligiblity_id']]);
    for (const bad of ['a%2Fb', 'a%5Cb', '%20a', 'a%00', 'a%0A', 'x'.repeat(51), '%E2%80%8F']) {
      const answer = await get(`/candidates/${bad}`);
      expect([bad, answer.status, answer.body.code]).toEqual([bad, 400, 'validation_error']);
      expect(answer.body.errors).toEqual([expect.objectContaining({ parameter: 'candidate_id' })]);
    }
    const both = await get('/candidates/a%2Fb/tests/A_B');
    expect(both.body.errors.map((fault: any) => fault.parameter).sort()).toEqual(['candidate_id', 'test_code']);
  });
});

describe('§5 Cancel', () => {
  const cancel = (id: string, test = scene.testCode) =>
    app.call('DELETE', `/accounts/${scene.account}/candidates/${id}/tests/${test}`, { token: scene.token });

  it('a cancellation answers 204, keeps the cancelled record and releases its vouchers', async () => {
    const voucher = await app.given.voucher(scene.account);
    const record = await app.given.eligibility(scene, { voucher_codes: [voucher] });
    const id = record['candidate'].candidate_id as string;
    const answer = await cancel(id);
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect((await get(`/candidates/${id}`)).body).toEqual([
      { ...record, status: 'CANCELLED', eligible_to_schedule: false, eligibility_status_message: expect.any(String) },
    ]);
    const [row] = await app.given.sql('SELECT uses FROM vouchers WHERE voucher_code = $1', [voucher]);
    expect(row).toEqual({ uses: 0 });
    expect((await cancel(id)).body.code).toBe('eligibility_not_found');
  });

  it('the cancellation of a record that does not exist gets 404 eligibility_not_found', async () => {
    expect((await cancel('nobody')).body).toMatchObject({ status: 404, code: 'eligibility_not_found' });
    expect((await cancel(candidate, 'NEVER')).body).toMatchObject({ status: 404, code: 'eligibility_not_found' });
  });

  it('a cancellation changes only the open record when a candidate has several records for the test', async () => {
    const body = app.given.eligibilityBody(scene.testCode);
    const id = body['candidate'].candidate_id as string;
    const first = await app.given.eligibility(scene, body);
    await app.given.sql(`UPDATE eligibilities SET status = 'EXPIRED' WHERE svc_eligiblity_id = $1`, [
      first['svc_eligiblity_id'],
    ]);
    await app.given.eligibility(scene, body);
    expect((await cancel(id)).status).toBe(204);
    expect((await get(`/candidates/${id}`)).body.map((record: any) => record.status)).toEqual(['CANCELLED', 'EXPIRED']);
  });
});

describe('§5 GET /accounts/{account_code}/eligibilities for reconciliation', () => {
  let board: Awaited<ReturnType<TestApp['given']['scene']>>;
  const made: string[] = [];
  const list = (query = '') =>
    app.call('GET', `/accounts/${board.account}/eligibilities${query}`, { token: board.token });

  beforeAll(async () => {
    board = await app.given.scene();
    for (let at = 0; at < 7; at++) made.unshift((await app.given.eligibility(board))['svc_eligiblity_id'] as string);
  });

  it('the list of eligibilities has absolute page links, and returns each record once even during writes', async () => {
    const seen: string[] = [];
    let next: string | undefined =
      `${app.url}/accounts/${board.account}/eligibilities?limit=3&test_code=${board.testCode}`;
    for (let page = 0; next; page++) {
      expect(next.startsWith(`${app.url}/accounts/`)).toBe(true);
      const answer = await app.call('GET', next.slice(app.url.length), { token: board.token });
      expect(answer.body.length).toBeLessThanOrEqual(3);
      seen.push(...idsOf(answer));
      next = nextUrl(answer);
      if (next) expect(new URL(next).searchParams.get('test_code')).toBe(board.testCode);
      if (page === 0) {
        await app.given.eligibility(board);
        await app.given.sql(`UPDATE eligibilities SET status = 'CANCELLED' WHERE svc_eligiblity_id = $1`, [made[4]]);
      }
    }
    expect(seen).toEqual(made);
  });

  it('the list of eligibilities can be filtered by status, test_code and updated_since, and a single page has no Link header', async () => {
    const all = await list();
    expect(all.body).toHaveLength(8);
    expect(all.headers.get('link')).toBeNull();
    expect(idsOf(await list('?status=cancelled'))).toEqual([made[4]]);
    expect(idsOf(await list(`?test_code=NEVER`))).toEqual([]);
    expect(idsOf(await list(`?updated_since=${dateTime(Date.now() + 60_000)}`))).toEqual([]);
    expect(await list(`?updated_since=${dateTime(Date.now() - 60_000)}`)).toMatchObject({ body: all.body });
  });

  it('the list of eligibilities can be filtered by client_eligibility_id, and then also contains cancelled records', async () => {
    const sceneOfOne = await app.given.scene();
    const find = async (query: string) =>
      idsOf(
        await app.call('GET', `/accounts/${sceneOfOne.account}/eligibilities?${query}`, { token: sceneOfOne.token }),
      );
    const created = async (client_eligibility_id: string) =>
      (await app.given.eligibility(sceneOfOne, { client_eligibility_id }))['svc_eligiblity_id'] as string;
    const cancelled = await created('CL-1');
    await app.given.sql(`UPDATE eligibilities SET status = 'CANCELLED' WHERE svc_eligiblity_id = $1`, [cancelled]);
    const [again, other] = [await created('CL-1'), await created('cl-1')];
    expect(await find('client_eligibility_id=CL-1')).toEqual([again, cancelled]);
    expect(await find('client_eligibility_id=cl-1')).toEqual([other]);
    expect(await find('client_eligibility_id=CL-1&status=cancelled')).toEqual([cancelled]);
    expect(await find(`client_eligibility_id=CL-1&updated_since=${dateTime(Date.now() + 60_000)}`)).toEqual([]);
    expect(await find(`client_eligibility_id=CL-1&updated_since=${dateTime(Date.now() - 60_000)}`)).toHaveLength(2);
    expect(await find('client_eligibility_id=CL-1&test_code=NEVER')).toEqual([]);
    expect(await find('client_eligibility_id=CL-2')).toEqual([]);
    const page = await app.call(
      'GET',
      `/accounts/${sceneOfOne.account}/eligibilities?client_eligibility_id=CL-1&limit=1`,
      {
        token: sceneOfOne.token,
      },
    );
    const next = nextUrl(page)!;
    expect([idsOf(page), await find(new URL(next).search.slice(1))]).toEqual([[again], [cancelled]]);
  });

  it('the updated_since filter treats the end date of an expired record as the time of its last change', async () => {
    const sceneOfOne = await app.given.scene();
    const record = await app.given.eligibility(sceneOfOne);
    await app.given.sql(
      `UPDATE eligibilities SET updated_datetime = now() - interval '1 day', eligibility_end_date = now() - interval '1 minute'
       WHERE svc_eligiblity_id = $1`,
      [record['svc_eligiblity_id']],
    );
    const since = (ms: number) =>
      app.call('GET', `/accounts/${sceneOfOne.account}/eligibilities?updated_since=${dateTime(Date.now() - ms)}`, {
        token: sceneOfOne.token,
      });
    expect(idsOf(await since(120_000))).toEqual([record['svc_eligiblity_id']]);
    expect(idsOf(await since(30_000))).toEqual([]);
  });

  it.each([
    ['limit=0', 'limit', 'limit_invalid'],
    ['limit=-1', 'limit', 'limit_invalid'],
    ['limit=1.5', 'limit', 'limit_invalid'],
    ['limit=', 'limit', 'limit_invalid'],
    ['limit=٣', 'limit', 'limit_invalid'],
    ['limit=5&limit=6', 'limit', 'limit_invalid'],
    ['cursor=%00', 'cursor', 'control_character'],
    ['cursor=abc', 'cursor', 'cursor_invalid'],
    ['cursor=LTE', 'cursor', 'cursor_invalid'],
    ['test_code=A_B', 'test_code', 'test_code_invalid'],
    ['test_code=A&test_code=B', 'test_code', 'type_invalid'],
    ['updated_since=2027-02-30T00:00:00Z', 'updated_since', 'date_time_invalid'],
    ['client_eligibility_id=A%20B', 'client_eligibility_id', 'client_eligibility_id_invalid'],
    ['updated_since=yesterday', 'updated_since', 'date_time_invalid'],
    ['status=live', 'status', 'invalid_status_filter'],
    ['status=all&status=all', 'status', 'invalid_status_filter'],
  ])('GET …/eligibilities?%s answers 400', async (query, parameter, code) => {
    const answer = await list(`?${query}`);
    expect(answer.status).toBe(400);
    expect(answer.body.errors).toEqual([expect.objectContaining({ parameter, code })]);
  });

  it('the list of eligibilities reports all faulty query parameters in one response, and accepts a limit over 200', async () => {
    const answer = await list('?limit=0&cursor=&test_code=%20&updated_since=x');
    expect(answer.body.errors.map((fault: any) => fault.parameter).sort()).toEqual(
      ['cursor', 'limit', 'test_code', 'updated_since'].sort(),
    );
    expect((await list('?limit=100000')).status).toBe(200);
  });
});
