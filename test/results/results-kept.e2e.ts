import { randomBytes, randomUUID } from 'node:crypto';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { startApp, type TestApp } from '../support/app';
import { keptMembers } from '../proof/results/bodies';
import { accountBody, Deliveries, registrationBody, type Scene } from '../support/deliveries';

/** Tests section 7 of the contract: "nothing that a driver sends with a valid token is ever lost". */
const SEED = Number(process.env['RESULTS_SEED'] ?? 20_270_131);
const RUNS = Number(process.env['RESULTS_RUNS'] ?? 150);

let app: TestApp;
let deliveries: Deliveries;
let operator: string;
let scene: Scene;
let id: string;
let candidate: string;

beforeAll(async () => {
  app = await startApp({ env: { RATE_LIMIT_PER_MINUTE: '0' } });
  deliveries = new Deliveries(app);
  operator = await app.given.operator();
});
afterAll(() => app.close());
beforeEach(async () => {
  scene = await app.given.scene();
  const record = await app.given.eligibility(scene);
  id = record['svc_eligiblity_id'] as string;
  candidate = record['candidate'].candidate_id as string;
});

/** Sends raw bytes as a result to one of the two routes. */
async function send(route: 'REGISTRATION' | 'ACCOUNT', bytes: string | Buffer, headers: Record<string, string> = {}) {
  const path = route === 'ACCOUNT' ? `/accounts/${scene.account}` : '/registrations/registration/results';
  const answer = await fetch(app.url + path, {
    method: route === 'ACCOUNT' ? 'PUT' : 'POST',
    headers: { Authorization: `Bearer ${scene.token}`, 'Content-Type': 'application/json', ...headers },
    body: Buffer.from(bytes),
  });
  const text = await answer.text();
  return { status: answer.status, body: (text === '' ? null : JSON.parse(text)) as Record<string, any> };
}
const unmatched = (of: string, more = '') =>
  app.call('GET', `/admin/unmatched-results/${of}${more}`, { token: operator });
async function rawOf(of: string): Promise<Buffer> {
  const answer = await fetch(`${app.url}/admin/unmatched-results/${of}/raw`, {
    headers: { Authorization: `Bearer ${operator}` },
  });
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/octet-stream']);
  return Buffer.from(await answer.arrayBuffer());
}
const accept = (of: string, body: object) =>
  app.call('POST', `/admin/unmatched-results/${of}/accept`, { token: operator, body });

describe('a wrong type in a member that identifies the exam or is a score', () => {
  it.each<['REGISTRATION' | 'ACCOUNT', object, string[]]>([
    ['REGISTRATION', { examMetaData: { examCode: ['x'] }, examDate: {} }, ['/examDate', '/examMetaData/examCode']],
    [
      'ACCOUNT',
      { candidate_id: 'C-1', overall_score_scaled: 'high', result: {} },
      ['/overall_score_scaled', '/result'],
    ],
  ])(
    'refuses a result from the source %s with members of wrong types, reports all faults, and stores it for an operator to accept',
    async (route, body, pointers) => {
      const sent = { ...body, marker: app.given.unique('m') };
      const { status, body: problem } = await send(route, JSON.stringify(sent));
      expect([status, problem['code']]).toEqual([400, 'validation_error']);
      expect(problem['errors'].map(({ pointer }: any) => pointer as string).sort()).toEqual(pointers);
      expect(problem['detail']).toContain('unmatched_result_id');
      const kept = (await unmatched(problem['unmatched_result_id'] as string)).body;
      expect(kept).toMatchObject({ code: 'validation_error', body: sent, source: route });
      expect(kept.faults.map(({ pointer }: any) => pointer as string).sort()).toEqual(pointers);
      expect(Object.keys(kept.faults[0] as object)).toEqual(['pointer', 'code']);
      const accepted = await accept(kept.id as string, { svc_eligiblity_id: id, reason: 'The driver’s type error' });
      expect(accepted.status).toBe(204);
      expect((await deliveries.read(scene, candidate)).body).toMatchObject([{ body: sent, faults: kept.faults }]);
      expect((await unmatched(kept.id as string)).body.accept_reason).toBe('The driver’s type error');
      expect((await send(route, JSON.stringify(sent))).status).toBe(200);
      expect(await deliveries.revisions(id)).toHaveLength(1);
    },
  );
});

it('stores a result as sent, and reports its faults, unless an invalid member identifies the exam or is a score', async () => {
  const body = registrationBody({
    examMetaData: { examCode: id },
    examDate: { of: 1 },
    userPhotoBase64String: 'not%base64',
    videoReviewLink: 'v'.repeat(2001),
  });
  expect((await deliveries.register(scene.token, body)).status).toBe(200);
  const [read] = (await deliveries.read(scene, candidate)).body;
  expect(read.body).toEqual(body);
  expect(read.faults).toEqual([
    { pointer: '/examDate', code: 'type_invalid' },
    { pointer: '/userPhotoBase64String', code: 'base64_invalid' },
    { pointer: '/videoReviewLink', code: 'too_long' },
  ]);
  const [row] = await deliveries.revisions(id);
  expect(JSON.stringify(row['body'])).not.toContain('not%base64');
  const seen = await app.call('GET', `/admin/eligibilities/${id}/results/1`, { token: operator });
  expect(seen.body.faults).toEqual(read.faults);
});

describe('a list of more than 50,000 entries', () => {
  const list = (name: string) => `"${name}":[${'{},'.repeat(50_000)}{}]`;

  it.each(['desktopComments', 'webCamComments'])(
    'accepts a result with more than 50,000 entries in %s, and reports the member as a fault',
    async (name) => {
      const answer = await send('REGISTRATION', `{"examMetaData":{"examCode":"${id}"},${list(name)}}`);
      expect(answer).toEqual({ status: 200, body: null });
      const [read] = (await deliveries.read(scene, candidate)).body;
      expect(read.faults).toEqual([{ pointer: `/${name}`, code: 'too_many' }]);
      expect(read.body[name]).toHaveLength(50_001);
    },
  );

  it('refuses a result with more than 50,000 category_scores, and stores it for an operator to accept', async () => {
    const { status, body } = await send('ACCOUNT', `{"candidate_id":"${candidate}",${list('category_scores')}}`);
    expect([status, body['code']]).toEqual([400, 'validation_error']);
    expect(body['errors']).toMatchObject([{ pointer: '/category_scores', code: 'too_many' }]);
    const kept = (await unmatched(body['unmatched_result_id'] as string)).body;
    expect(kept.faults).toEqual([{ pointer: '/category_scores', code: 'too_many' }]);
    expect(kept.body.category_scores).toHaveLength(50_001);
    expect((await accept(kept.id as string, { svc_eligiblity_id: id })).status).toBe(204);
    expect((await deliveries.read(scene, candidate)).body[0].faults).toEqual(kept.faults);
  });
});

describe('a member that occurs twice in one object', () => {
  it.each<['REGISTRATION' | 'ACCOUNT', (id: string, candidate: string) => string, string]>([
    ['ACCOUNT', (_, candidate) => `{"candidate_id":"${candidate}","candidate_id":"OTHER"}`, '/candidate_id'],
    ['ACCOUNT', (_, candidate) => `{"candidate_id":"OTHER","candidate_id":"${candidate}"}`, '/candidate_id'],
    ['ACCOUNT', (_, candidate) => `{"candidate_id":"${candidate}","result":"PASS","result":"FAIL"}`, '/result'],
    ['REGISTRATION', (id) => `{"examMetaData":{"examCode":"ABCD2345","examCode":"${id}"}}`, '/examMetaData/examCode'],
    ['REGISTRATION', (id) => `{"examMetaData":{"a":1},"examMetaData":{"examCode":"${id}"}}`, '/examMetaData'],
  ])(
    'refuses a result from the source %s with two values for a score, or for a field that identifies the exam, and stores the body',
    async (route, body, pointer) => {
      const { status, body: problem } = await send(route, body(id, candidate));
      expect([status, problem['code']]).toEqual([400, 'validation_error']);
      expect(problem['errors']).toMatchObject([{ pointer, code: 'member_repeated' }]);
      const kept = (await unmatched(problem['unmatched_result_id'] as string)).body;
      expect(kept.faults).toEqual([{ pointer, code: 'member_repeated' }]);
      expect(await deliveries.revisions(id)).toEqual([]);
    },
  );

  it('stores a result with repeated members and reports them, unless one of them identifies the exam or is a score', async () => {
    const json = `{"examMetaData":{"examCode":"${id}"},"examDate":"1","examDate":"2","own":[{"a":1,"a":2}]}`;
    expect((await send('REGISTRATION', json)).status).toBe(200);
    const { body, text } = await deliveries.read(scene, candidate);
    expect(text).toContain(`"body":${json}`);
    expect(body[0].faults).toEqual([
      { pointer: '/examDate', code: 'member_repeated' },
      { pointer: '/own/0/a', code: 'member_repeated' },
    ]);
  });

  it('accepts a result with a member that occurs twice with equal values', async () => {
    const json = `{"candidate_id":"${candidate}","candidate_id": "${candidate}"}`;
    expect((await send('ACCOUNT', json)).status).toBe(200);
    expect((await deliveries.read(scene, candidate)).body[0].faults).toEqual([]);
  });
});

it('finds the exam of a result whose identifying members are numbers instead of strings', async () => {
  const record = await app.given.eligibility(scene, { candidate: { candidate_id: '4711' } });
  expect((await deliveries.put(scene, accountBody(null, { candidate_id: 4711, result_id: 12 }))).status).toBe(200);
  expect(await deliveries.revisions(record['svc_eligiblity_id'] as string)).toHaveLength(1);
});

describe('a body that is not a JSON object', () => {
  let sentBefore = 0;
  it.each<[string, string | Buffer, Record<string, string>, number, string]>([
    ['half of a JSON object', '{"candidate_id": "C', {}, 400, 'malformed_json'],
    ['bytes that are no UTF-8', Buffer.from([0xff, 0, 1]), {}, 400, 'malformed_json'],
    ['a list', '[1]', {}, 400, 'validation_error'],
    ['another media type', '<result/>', { 'Content-Type': 'application/xml' }, 415, 'unsupported_media_type'],
    ['an unknown coding', 'packed', { 'Content-Encoding': 'zstd' }, 415, 'unsupported_media_type'],
    [
      'a body that is declared as gzip and is not',
      '{"candidate_id": "C-1"}',
      { 'Content-Encoding': 'gzip' },
      400,
      'malformed_request',
    ],
    [
      'half of a gzip',
      gzipSync(JSON.stringify({ of: randomBytes(40_000).toString('hex') })).subarray(0, 20_000),
      { 'Content-Encoding': 'gzip' },
      400,
      'malformed_request',
    ],
    [
      'a brotli that breaks off after the first of many packets',
      Buffer.concat([brotliCompressSync(randomBytes(3000)).subarray(0, 2000), Buffer.alloc(1_000_000, 0xff)]),
      { 'Content-Encoding': 'br' },
      400,
      'malformed_request',
    ],
  ])(
    'stores a body that is not a JSON object once, as encrypted bytes: %s',
    async (_title, bytes, headers, status, code) => {
      const blanks = Buffer.from(' '.repeat(++sentBefore));
      const sent = Buffer.concat([Buffer.from(bytes), blanks]);
      for (const route of ['REGISTRATION', 'ACCOUNT'] as const) {
        const answers = [await send(route, sent, headers), await send(route, sent, headers)];
        expect(answers.map((answer) => [answer.status, answer.body['code']])).toEqual([
          [status, code],
          [status, code],
        ]);
        const [kept, again] = answers.map(({ body }) => body['unmatched_result_id'] as string);
        expect(again).toBe(kept);
        expect((await rawOf(kept)).equals(sent)).toBe(true);
        expect((await unmatched(kept)).body).toMatchObject({ code, body: null, source: route });
        expect((await accept(kept, { svc_eligiblity_id: id })).body.code).toBe('forbidden_operation');
        const [row] = await app.given.sql('SELECT raw FROM unmatched_results WHERE id = $1', [kept]);
        expect((row['raw'] as Buffer).includes(sent)).toBe(false);
      }
    },
  );

  it('shows the bytes of a result body that is not a JSON object only to callers with the results scope', async () => {
    const { body } = await send('ACCOUNT', `{ ${app.given.unique('m')}`);
    const token = await app.given.token([scene.account], ['support']);
    for (const each of [body['unmatched_result_id'] as string, randomUUID(), 'none']) {
      const answer = await app.call('GET', `/admin/unmatched-results/${each}/raw`, { token });
      expect([answer.status, answer.body.code]).toEqual([403, 'insufficient_scope']);
      expect(answer.headers.get('www-authenticate')).toContain('scope="results"');
    }
    expect(await unmatched(randomUUID(), '/raw')).toMatchObject({
      status: 404,
      body: { code: 'unmatched_result_not_found', detail: expect.stringContaining('No unmatched result has this id') },
    });
  });

  it('GET of the raw bytes of a result body returns 404 with an explanation if the body is a JSON object', async () => {
    const { body } = await send('ACCOUNT', JSON.stringify({ candidate_id: {}, marker: app.given.unique('m') }));
    const answer = await unmatched(body['unmatched_result_id'] as string, '/raw');
    expect([answer.status, answer.body.code]).toEqual([404, 'unmatched_result_not_found']);
    expect(answer.body.detail).toContain('is a JSON object');
  });

  it('stores even a valid result that is refused because of its query string', async () => {
    const data = accountBody(candidate, { marker: app.given.unique('m') });
    const answer = await app.call('PUT', `/accounts/${scene.account}?mistyped=1`, { token: scene.token, body: data });
    expect([answer.status, answer.body.errors[0].code]).toEqual([400, 'unknown_parameter']);
    expect((await unmatched(answer.body.unmatched_result_id as string)).body.body).toEqual(data);
  });
});

it('before an operator accepts a result, the service shows the exam that has the entered code', async () => {
  const { body: problem } = await send('REGISTRATION', JSON.stringify({ marker: app.given.unique('m') }));
  const exam = (code: string, token = operator) =>
    app.call('GET', `/admin/unmatched-results/${problem['unmatched_result_id']}/exam?code=${code}`, { token });
  const record = await app.given.eligibility(scene);
  const { booking_code } = await app.given.booking(scene, record);
  for (const code of [booking_code as string, (record['svc_eligiblity_id'] as string).toLowerCase()])
    expect((await exam(code)).body).toMatchObject({
      svc_eligiblity_id: record['svc_eligiblity_id'],
      test_code: scene.testCode,
      status: 'SCHEDULED',
      booking_on: expect.any(String),
    });
  await app.call('DELETE', `/accounts/${scene.account}/bookings/${booking_code}`, { token: scene.token });
  const later = (await app.given.booking(scene, record))['booking_code'] as string;
  expect((await exam(booking_code as string)).status).toBe(404);
  const ofCancelled = await accept(problem['unmatched_result_id'] as string, { booking_code });
  expect([ofCancelled.status, ofCancelled.body.code]).toEqual([403, 'forbidden_operation']);
  expect(ofCancelled.body.detail).toContain(booking_code);
  expect(await deliveries.status(record['svc_eligiblity_id'] as string)).toBe('SCHEDULED');
  expect((await exam(later)).body.svc_eligiblity_id).toBe(record['svc_eligiblity_id']);
  const foreign = (await app.given.eligibility(await app.given.scene()))['svc_eligiblity_id'] as string;
  const support = await app.given.token([scene.account], ['support']);
  expect((await exam(id, support)).status).toBe(200);
  for (const code of [foreign, 'NOWHERE']) {
    const answer = await exam(code, support);
    expect([answer.status, answer.body.code]).toEqual([404, 'eligibility_not_found']);
  }
  expect((await exam('')).status).toBe(400);
});

describe('a result body that is accepted once', () => {
  it('one result body completes one exam, whether the test driver’s retry or an operator’s acceptance for a different exam comes first', async () => {
    for (let round = 0; round < 8; round++) {
      const code = app.given.unique('LATE-');
      const body = registrationBody({ examMetaData: { examCode: code, extRecordLocator: app.given.unique('L-') } });
      const refused = (await deliveries.register(scene.token, body)).body.unmatched_result_id as string;
      const [mine, other] = [await app.given.eligibility(scene), await app.given.eligibility(scene)].map(
        (record) => record['svc_eligiblity_id'] as string,
      );
      await app.given.sql('UPDATE eligibilities SET client_eligibility_id = $2 WHERE svc_eligiblity_id = $1', [
        mine,
        code,
      ]);
      const [retry, accepted] = await Promise.all([
        deliveries.register(scene.token, body),
        accept(refused, { svc_eligiblity_id: other }),
      ]);
      expect(retry.status).toBe(200);
      const completions = [await deliveries.completions(mine), await deliveries.completions(other)];
      expect([accepted.status, ...completions]).toEqual(accepted.status === 204 ? [204, 0, 1] : [409, 1, 0]);
      if (accepted.status === 409) expect(accepted.body.code).toBe('unmatched_result_settled');
      expect((await unmatched(refused)).body.settled_by).toBe(accepted.status === 204 ? 'OPERATOR' : 'MATCHED');
      expect((await deliveries.register(scene.token, body)).status).toBe(200);
      expect([await deliveries.completions(mine), await deliveries.completions(other)]).toEqual(completions);
    }
  });
});

describe('any body that a driver may send', () => {
  /** Generates null or a value of the given generator. Null is `nulls` times as frequent as the other values. */
  const rarely = <T>(nulls: number, arbitrary: fc.Arbitrary<T>) =>
    fc.oneof({ weight: nulls, arbitrary: fc.constant(null) }, { weight: 1, arbitrary });
  const asKept = (text: string) => Object.fromEntries(keptMembers(JSON.parse(text) as Record<string, unknown>));
  const scalar = fc.oneof(
    fc.constantFrom<unknown>('True', 'false', '', '61', '61.0', 61, 1.5, null, true, '\0', 'a\u0007b', {}, [], [null]),
    fc.string(),
    fc.constantFrom('x'.repeat(600), 'data:image/png;base64,QUJD', 'QUJD\r\nQUJD', 'no base64 %'),
  );
  const names = [
    ...['examDate', 'examTakerEmail', 'examTakerLastName', 'desktopComments', 'userPhotoBase64String', 'extra'],
    ...['videoReviewLink', 'reviewStatus', 'candidate_id', 'result_id', 'category_scores', 'overall_score_scaled'],
  ];
  const inner = fc.dictionary(
    fc.constantFrom('examCode', 'reviewedExam', 'simulatedExam', 'extRecordLocator', 'duration', 'examPassword', 'own'),
    scalar,
    { maxKeys: 4 },
  );
  const members = fc.record({
    outer: fc.dictionary(fc.constantFrom(...names), scalar, { maxKeys: 5 }),
    meta: fc.oneof(inner, scalar),
    api: fc.oneof(inner, fc.constant({ reviewedExam: 'True' })),
    leads: fc.boolean(),
    cut: rarely(5, fc.nat(200)),
    type: rarely(9, fc.constantFrom('text/plain', 'application/xml')),
    route: fc.constantFrom<'REGISTRATION' | 'ACCOUNT'>('REGISTRATION', 'ACCOUNT'),
  });

  it('stores any result body exactly once when the response is 200, 400 or 415', async () => {
    let n = 0;
    await fc.assert(
      fc.asyncProperty(members, async ({ outer, meta, api, leads, cut, type, route }) => {
        const lead = leads ? { examMetaData: { examCode: id }, candidate_id: candidate } : {};
        const body = {
          marker: `${app.given.unique('m')}-${n++}`,
          userPhotoBase64String: '',
          ...outer,
          examMetaData: meta,
          examApiData: api,
          ...lead,
        };
        const text = JSON.stringify(body).slice(0, cut === null ? undefined : -1 - cut);
        if (text === '') return;
        const headers: Record<string, string> = type === null ? {} : { 'Content-Type': type };
        const answer = await send(route, text, headers);
        expect([200, 400, 415]).toContain(answer.status);
        const count = async (table: string) =>
          (await app.given.sql(`SELECT count(*)::int AS n FROM ${table} WHERE strpos(body, $1) > 0`, [body.marker]))[0][
            'n'
          ] as number;
        if (answer.status === 200) {
          expect([await count('result_revisions'), await count('unmatched_results')]).toEqual([1, 0]);
          const [newest] = (await deliveries.read(scene, candidate)).body;
          expect(newest.body).toEqual(asKept(text));
          return;
        }
        const kept = answer.body['unmatched_result_id'] as string;
        const found = (await unmatched(kept)).body;
        if (found.body === null) expect((await rawOf(kept)).toString()).toBe(text);
        else {
          expect(found.body).toEqual(asKept(text));
          expect([await count('result_revisions'), await count('unmatched_results')]).toEqual([0, 1]);
        }
      }),
      { seed: SEED, numRuns: RUNS },
    );
  });
});
