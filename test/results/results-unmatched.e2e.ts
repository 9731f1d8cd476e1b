import { nextPath } from '../support/answers';
import { startApp, type TestApp } from '../support/app';
import { accountBody, Deliveries, registrationBody, type Scene } from '../support/deliveries';
import { UnmatchedSweep } from '../../src/results/unmatched/unmatched-sweep';

/** Tests section 7 of the contract: "A body refused by the matching is kept 30 days and read by operators". */
let app: TestApp;
let deliveries: Deliveries;
let operator: string;
let scene: Scene;
let eligibility: Record<string, any>;
let id: string;
let candidate: string;

beforeAll(async () => {
  app = await startApp();
  deliveries = new Deliveries(app);
  operator = await app.given.operator();
});
afterAll(() => app.close());
beforeEach(async () => {
  scene = await app.given.scene();
  eligibility = await app.given.eligibility(scene);
  id = eligibility['svc_eligiblity_id'] as string;
  candidate = eligibility['candidate'].candidate_id as string;
});

const list = async () => (await deliveries.unmatched(operator)).body as Record<string, any>[];
const get = (unmatched: string) => app.call('GET', `/admin/unmatched-results/${unmatched}`, { token: operator });
const accept = (unmatched: string, body: unknown, token = operator) =>
  app.call('POST', `/admin/unmatched-results/${unmatched}/accept`, { token, body });

/** Sends a registration result that the service refuses; returns the id of the unmatched result. */
async function refused(changes: Record<string, unknown> = {}): Promise<string> {
  const body = registrationBody({ marker: app.given.unique('m'), ...changes });
  expect((await deliveries.register(scene.token, body)).body).toMatchObject({ status: 400 });
  return (await list())[0]['id'] as string;
}
async function refusedAccount(candidateId: string | null, changes: Record<string, unknown> = {}): Promise<string> {
  expect((await deliveries.put(scene, accountBody(candidateId, changes))).body).toMatchObject({ status: 400 });
  return (await list())[0]['id'] as string;
}

describe('a body that matched no exam', () => {
  it('shows an unmatched result to operators with id, source, received_datetime, code, username, account_code and body', async () => {
    const begun = Math.floor(Date.now() / 1000) * 1000;
    const body = registrationBody({ examMetaData: { examCode: 'NOWHERE' }, extra: { n: 1 } });
    await deliveries.register(scene.token, body);
    const data = accountBody('NOBODY', { extra: { n: 2 } });
    await deliveries.put(scene, data);
    const [second, first] = await list();
    const [user] = await app.given.sql('SELECT username FROM user_accounts WHERE account_code = $1', [scene.account]);
    const of = {
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      received_datetime: expect.any(String),
      username: user['username'],
      faults: [],
    };
    expect(first).toEqual({ ...of, source: 'REGISTRATION', code: 'registration_not_found', account_code: null, body });
    expect(second).toEqual({
      ...of,
      source: 'ACCOUNT',
      code: 'candidate_exam_not_found',
      account_code: scene.account,
      body: data,
    });
    expect(Date.parse(first['received_datetime'] as string)).toBeGreaterThanOrEqual(begun);
  });

  it('stores the body of a refused result, whatever the reason for the refusal', async () => {
    const locator = app.given.unique('L-');
    const other = (await app.given.eligibility(scene))['svc_eligiblity_id'] as string;
    await deliveries.register(
      scene.token,
      registrationBody({ examMetaData: { examCode: id, extRecordLocator: locator } }),
    );
    await refused({ examMetaData: { examCode: other, extRecordLocator: locator } });
    for (let i = 0; i < 2; i++) await app.given.eligibility(scene, { candidate: { email: 'two@example.org' } });
    await refused({ examMetaData: { examCode: scene.testCode }, examTakerEmail: 'two@example.org' });
    await refused();
    const result_id = app.given.unique('R-');
    await deliveries.put(scene, accountBody(candidate, { result_id }));
    await refusedAccount('SOMEBODY-ELSE', { result_id });
    await refusedAccount(null);
    const twice = app.given.unique('C-');
    for (let i = 0; i < 2; i++) {
      const where = { ...scene, testCode: await app.given.test(scene.account) };
      await app.given.eligibility(where, { candidate: { candidate_id: twice } });
    }
    await refusedAccount(twice);
    expect((await list()).slice(0, 6).map(({ code }) => code as string)).toEqual([
      'candidate_exam_ambiguous',
      'candidate_exam_not_found',
      'result_id_conflict',
      'registration_not_found',
      'registration_ambiguous',
      'registration_mismatch',
    ]);
  });

  it('stores the body of an unmatched result once, however often the body arrives', async () => {
    const body = registrationBody({ examMetaData: { examCode: 'NOWHERE' }, marker: app.given.unique('m') });
    await Promise.all(Array.from({ length: 10 }, () => deliveries.register(scene.token, body)));
    expect((await list()).filter((row) => row['body']?.marker === body['marker'])).toHaveLength(1);
  });

  it('GET of an unmatched result returns the photo and video link, which the list omits; both are stored encrypted', async () => {
    const photo = { userPhotoBase64String: 'SECRETPHOTO+', videoReviewLink: 'https://v.example/secret' };
    const unmatched = await refused(photo);
    expect((await list())[0]['body']).not.toHaveProperty('userPhotoBase64String');
    expect((await list())[0]['body']).not.toHaveProperty('videoReviewLink');
    expect((await get(unmatched)).body).toMatchObject({
      id: unmatched,
      body: photo,
      accepted_datetime: null,
      svc_eligiblity_id: null,
    });
    const [row] = await app.given.sql('SELECT * FROM unmatched_results WHERE id = $1', [unmatched]);
    expect(JSON.stringify({ ...row, photo: String(row['photo']), link: String(row['video_link']) })).not.toMatch(
      /SECRETPHOTO|v\.example/,
    );
  });

  it('GET of an unmatched result can omit the photo, link and credentials, and then writes no audit row', async () => {
    const photo = { userPhotoBase64String: 'SECRETPHOTO+', videoReviewLink: 'https://v.example/secret' };
    const unmatched = await refused({ ...photo, examApiData: { examCode: 'NOWHERE', examPassword: 'hunter2' } });
    const { body, status } = await get(`${unmatched}?media=false`);
    expect([status, body.id, body.accepted_datetime]).toEqual([200, unmatched, null]);
    expect(body.body).toEqual((await list())[0]['body']);
    expect(body.body.examApiData).toEqual({ examCode: 'NOWHERE' });
    const audited = () => app.given.sql('SELECT action FROM audit_log WHERE subject = $1 ORDER BY id', [unmatched]);
    expect(await audited()).toEqual([]);
    await get(`${unmatched}?media=true`);
    expect((await audited()).map(({ action }) => action as string)).toEqual([
      'unmatched-result.read-photo',
      'unmatched-result.read-video-link',
    ]);
    expect((await get(`${unmatched}?media=maybe`)).status).toBe(400);
  });

  it('deletes unmatched results after 30 days', async () => {
    const [old, young] = [await refused(), await refused()];
    const age = (unmatched: string, days: number) =>
      app.given.sql(
        `UPDATE unmatched_results SET received_datetime = now() - $2::int * interval '1 day' WHERE id = $1`,
        [unmatched, days],
      );
    await age(old, 31);
    await age(young, 29);
    await app.app.get(UnmatchedSweep).run();
    expect((await get(old)).status).toBe(404);
    expect((await get(young)).status).toBe(200);
  });

  it('keeps an unmatched result for 30 days after its last arrival', async () => {
    const body = registrationBody({ examMetaData: { examCode: app.given.unique('NOWHERE-') } });
    const send = async () => (await deliveries.register(scene.token, body)).body.unmatched_result_id as string;
    const repeated = await send();
    await app.given.sql(`UPDATE unmatched_results SET received_datetime = now() - interval '31 days' WHERE id = $1`, [
      repeated,
    ]);
    expect(await send()).toBe(repeated);
    await app.app.get(UnmatchedSweep).run();
    expect((await get(repeated)).status).toBe(200);
    await app.given.sql(`UPDATE unmatched_results SET repeated_datetime = now() - interval '31 days' WHERE id = $1`, [
      repeated,
    ]);
    await app.app.get(UnmatchedSweep).run();
    expect((await get(repeated)).status).toBe(404);
  });

  it('lists unmatched results page by page, newest first', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 3; i++) ids.unshift(await refused());
    const first = await app.call('GET', '/admin/unmatched-results?limit=2', { token: operator });
    expect(first.body.map((row: any) => row.id as string)).toEqual(ids.slice(0, 2));
    const next = nextPath(first)!;
    const late = await refused();
    const second = await app.call('GET', next, { token: operator });
    expect(second.body[0].id).toBe(ids[2]);
    expect(late).not.toBe(ids[2]);
    const none = await app.call('GET', '/admin/unmatched-results?limit=0', { token: operator });
    expect(none.status).toBe(400);
  });

  it('denies access to unmatched results to everyone except operators and support staff', async () => {
    const unmatched = await refused();
    for (const [method, path] of [
      ['GET', '/admin/unmatched-results'],
      ['GET', `/admin/unmatched-results/${unmatched}`],
    ] as const) {
      expect((await app.call(method, path)).status).toBe(401);
      expect((await app.call(method, path, { token: scene.token })).body.code).toBe('insufficient_scope');
    }
    expect((await accept(unmatched, { svc_eligiblity_id: id }, scene.token)).body.code).toBe('insufficient_scope');
  });
});

describe('accepting an unmatched result as an operator', () => {
  it('accepting a registration result by svc_eligiblity_id has the effects of a matched result, and is audited', async () => {
    const locator = app.given.unique('L-');
    const unmatched = await refused({
      examMetaData: { examCode: 'TYPO', extRecordLocator: locator },
      userPhotoBase64String: 'QUJD',
      videoReviewLink: 'https://v.example/1',
    });
    const kept = (await get(unmatched)).body;
    const answer = await accept(unmatched, { svc_eligiblity_id: id });
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect([await deliveries.status(id), await deliveries.completions(id)]).toEqual(['COMPLETED', 1]);
    const read = await deliveries.read(scene, candidate);
    expect(read.body).toEqual([
      {
        source: 'REGISTRATION',
        revision: 1,
        received_datetime: kept.received_datetime,
        faults: [],
        state: 'RELEASED',
        state_reason: null,
        body: kept.body,
      },
    ]);
    const byLocator = registrationBody({ examMetaData: { extRecordLocator: locator.toUpperCase() } });
    expect((await deliveries.register(scene.token, byLocator)).status).toBe(200);
    const audit = await app.given.sql(
      `SELECT action, subject FROM audit_log WHERE subject IN ($1, $2) AND action LIKE '%accept' ORDER BY id`,
      [unmatched, id],
    );
    expect(audit).toEqual([
      { action: 'result.accept', subject: id },
      { action: 'unmatched-result.accept', subject: unmatched },
      { action: 'result.accept', subject: id },
    ]);
  });

  it('an operator can accept an unmatched result for the exam with a given booking_code', async () => {
    const { booking_code } = await app.given.booking(scene, eligibility);
    const unmatched = await refused();
    expect((await accept(unmatched, { booking_code })).status).toBe(204);
    expect(await deliveries.bookings(id)).toEqual([expect.objectContaining({ booking_code, status: 'COMPLETED' })]);
  });

  it('after an operator has accepted an account result, later results with its result_id are assigned to the same exam', async () => {
    const result_id = app.given.unique('R-');
    const unmatched = await refusedAccount('TYPO', { result_id });
    expect((await accept(unmatched, { svc_eligiblity_id: id })).status).toBe(204);
    expect((await deliveries.put(scene, accountBody(candidate, { result_id, n: 2 }))).status).toBe(200);
    expect((await deliveries.revisions(id)).map(({ revision, result_id }) => [revision, result_id])).toEqual([
      [1, result_id],
      [2, result_id],
    ]);
    expect(await deliveries.completions(id)).toBe(1);
  });

  it('an account result without result_id is answered with 200 after an operator has accepted its body', async () => {
    const body = accountBody('TYPO', { marker: app.given.unique('m') });
    await deliveries.put(scene, body);
    await accept((await list())[0]['id'] as string, { svc_eligiblity_id: id });
    expect((await deliveries.put(scene, body)).status).toBe(200);
    expect(await deliveries.revisions(id)).toHaveLength(1);
  });

  it('a result body that an operator has accepted is answered with 200 when it arrives again, as long as it is the newest revision', async () => {
    const waiting = async (marker: string) => (await list()).filter(({ body }) => body?.marker === marker);
    const [marker, accountMarker] = [app.given.unique('m'), app.given.unique('m')];
    const body = registrationBody({ examMetaData: { examCode: 'TYPO' }, marker });
    const data = accountBody('TYPO', { result_id: app.given.unique('R-'), marker: accountMarker });
    await deliveries.register(scene.token, body);
    await accept((await list())[0]['id'] as string, { svc_eligiblity_id: id });
    await deliveries.put(scene, data);
    await accept((await list())[0]['id'] as string, { svc_eligiblity_id: id });
    for (const answer of [await deliveries.register(scene.token, body), await deliveries.put(scene, data)])
      expect([answer.status, answer.text]).toEqual([200, '']);
    expect(await deliveries.revisions(id)).toHaveLength(2);
    expect([...(await waiting(marker)), ...(await waiting(accountMarker))]).toEqual([]);
    // The service still refuses the accepted body if a test driver of another account sends it. The service also
    // refuses it if the same test driver sends it again after a newer body.
    const other = await app.given.scene();
    expect((await deliveries.register(other.token, body)).body.code).toBe('registration_not_found');
    await deliveries.register(scene.token, registrationBody({ examMetaData: { examCode: id }, marker: 'newer' }));
    expect((await deliveries.register(scene.token, body)).body.code).toBe('registration_not_found');
    expect(await waiting(marker)).toHaveLength(2);
  });

  it('an accepted result of a simulated exam is stored and changes no state', async () => {
    const unmatched = await refused({ examMetaData: { simulatedExam: 'True' } });
    expect((await accept(unmatched, { svc_eligiblity_id: id })).status).toBe(204);
    expect(await deliveries.revisions(id)).toEqual([expect.objectContaining({ simulated: true })]);
    expect(await deliveries.status(id)).toBe('ELIGIBLE');
  });

  it('accepting a result that was refused with registration_mismatch does not move its record locator to another registration', async () => {
    const locator = app.given.unique('L-');
    const other = (await app.given.eligibility(scene))['svc_eligiblity_id'] as string;
    const body = (examCode: string) => ({ examMetaData: { examCode, extRecordLocator: locator } });
    await deliveries.register(scene.token, registrationBody(body(other)));
    const unmatched = await refused(body(id));
    expect((await accept(unmatched, { svc_eligiblity_id: id })).status).toBe(204);
    await deliveries.register(scene.token, registrationBody({ examMetaData: { extRecordLocator: locator } }));
    expect(await deliveries.revisions(other)).toHaveLength(2);
    expect(await deliveries.revisions(id)).toHaveLength(1);
  });

  it('returns 409 when an unmatched result is accepted a second time, later or at the same moment', async () => {
    const unmatched = await refused();
    const answers = await Promise.all([1, 2, 3].map(() => accept(unmatched, { svc_eligiblity_id: id })));
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 409, 409]);
    expect((await accept(unmatched, { svc_eligiblity_id: id })).body.code).toBe('unmatched_result_accepted');
    expect(await deliveries.revisions(id)).toHaveLength(1);
    expect((await list()).map((row) => row['id'] as string)).not.toContain(unmatched);
    expect((await get(unmatched)).body).toMatchObject({ svc_eligiblity_id: id, accepted_datetime: expect.any(String) });
  });

  it('completes an ABSENT record when an operator accepts a result for it', async () => {
    await app.given.sql(`UPDATE eligibilities SET status = 'ABSENT' WHERE svc_eligiblity_id = $1`, [id]);
    expect((await accept(await refused(), { svc_eligiblity_id: id })).status).toBe(204);
    expect(await deliveries.status(id)).toBe('COMPLETED');
  });

  it('returns 403 forbidden_operation when an operator accepts a result for a CANCELLED record', async () => {
    await app.given.sql(`UPDATE eligibilities SET status = 'CANCELLED' WHERE svc_eligiblity_id = $1`, [id]);
    const unmatched = await refused();
    const answer = await accept(unmatched, { svc_eligiblity_id: id });
    expect([answer.status, answer.body.code]).toEqual([403, 'forbidden_operation']);
    expect((await list())[0]['id']).toBe(unmatched);
  });

  it('accepting an account result for an exam of another account returns 403 forbidden_operation', async () => {
    const unmatched = await refusedAccount('TYPO', { marker: app.given.unique('m') });
    const other = (await app.given.eligibility(await app.given.scene()))['svc_eligiblity_id'] as string;
    expect((await accept(unmatched, { svc_eligiblity_id: other })).body.code).toBe('forbidden_operation');
    expect(await deliveries.revisions(other)).toEqual([]);
  });

  it('accepting an unmatched result returns 404 if the result, the booking or the eligibility is unknown', async () => {
    const unmatched = await refused();
    const exam = { svc_eligiblity_id: id };
    for (const unknown of ['01a1f92d-04c9-711b-9d51-664e3a5595bb', 'x'])
      for (const answer of [await accept(unknown, exam), await get(unknown)])
        expect([answer.status, answer.body.code]).toEqual([404, 'unmatched_result_not_found']);
    expect((await accept(unmatched, { booking_code: 'ZZZZZZZZZZ' })).body).toMatchObject({
      status: 404,
      code: 'booking_not_found',
    });
    expect((await accept(unmatched, { svc_eligiblity_id: 'ZZZZZZZZ' })).body).toMatchObject({
      status: 404,
      code: 'eligibility_not_found',
    });
  });

  it('accepting a result requires exactly one of booking_code and svc_eligiblity_id, and otherwise returns 400', async () => {
    const unmatched = await refused();
    for (const body of [
      {},
      { booking_code: 'A', svc_eligiblity_id: 'B' },
      { booking_code: null },
      { booking_code: 7 },
      { exam: 'x' },
    ])
      expect((await accept(unmatched, body)).body).toMatchObject({ status: 400, code: 'validation_error' });
  });
});

describe('rejecting an unmatched result as an operator', () => {
  const reject = (unmatched: string, body: unknown = { reason: 'A rehearsal.' }, token = operator) =>
    app.call('POST', `/admin/unmatched-results/${unmatched}/reject`, { token, body });

  it('a rejected result disappears from the list, even if the same body arrives again, and can still be accepted', async () => {
    const body = registrationBody({ marker: app.given.unique('m') });
    await deliveries.register(scene.token, body);
    const [{ id: unmatched }] = await list();
    expect((await reject(unmatched, {})).status).toBe(400);
    for (let i = 0; i < 2; i++) expect((await reject(unmatched)).status).toBe(204);
    await deliveries.register(scene.token, body);
    expect((await list()).map((row) => row['id'])).not.toContain(unmatched);
    expect((await get(unmatched)).body).toMatchObject({
      rejected_datetime: expect.any(String),
      rejected_by: expect.stringMatching(/^user-/),
      reject_reason: 'A rehearsal.',
      accepted_datetime: null,
    });
    const audit = await app.call('GET', `/admin/audit?subject=${unmatched}`, { token: operator });
    expect(audit.body[0]).toMatchObject({ action: 'unmatched-result.reject', changed: ['reason'] });
    expect((await accept(unmatched, { svc_eligiblity_id: id })).status).toBe(204);
    expect((await reject(unmatched)).body).toMatchObject({ status: 409, code: 'unmatched_result_accepted' });
  });

  it('support staff can reject only unmatched results of their own accounts', async () => {
    const unmatched = await refusedAccount('TYPO', { marker: app.given.unique('m') });
    const support = await app.given.token([(await app.given.scene()).account], ['support']);
    expect((await reject(unmatched, { reason: 'x' }, support)).body.code).toBe('unmatched_result_not_found');
    expect((await reject('01a1f92d-04c9-711b-9d51-664e3a5595bb')).body.code).toBe('unmatched_result_not_found');
  });
});

describe('the suggested exams for an unmatched result', () => {
  const likely = async (unmatched: string, token = operator) => {
    const answer = await app.call('GET', `/admin/unmatched-results/${unmatched}/candidates`, { token });
    expect(answer.status).toBe(200);
    return (answer.body as Record<string, any>[]).map(({ record, because }) => [record.svc_eligiblity_id, because]);
  };
  const exam = async (candidate_: object, where = scene) =>
    (await app.given.eligibility(where, { candidate: candidate_ }))['svc_eligiblity_id'] as string;

  it('suggests exams for an unmatched result by e-mail address, names and test, most likely exam first', async () => {
    const named = { first_name: 'Grace', last_name: 'Hopper' };
    const byName = await exam({ ...named, email: 'other@example.org' });
    const byMail = await exam({ first_name: 'G', last_name: 'H', email: 'Grace@Example.org' });
    const byBoth = await exam({ ...named, email: 'grace@example.org' });
    const byLast = await exam({ first_name: 'Anna', last_name: 'HOPPER', email: null });
    await exam({ first_name: 'Anna', last_name: 'Hopperton', email: null });
    await exam({ ...named, email: 'grace@example.org' }, await app.given.scene());
    const cancelled = await exam(named);
    await app.given.sql(`UPDATE eligibilities SET status = 'CANCELLED' WHERE svc_eligiblity_id = $1`, [cancelled]);
    const unmatched = await refused({
      examMetaData: { examCode: scene.testCode },
      examTakerEmail: 'GRACE@example.org',
      examTakerFirstName: 'grace',
      examTakerLastName: 'hopper',
    });
    expect(await likely(unmatched)).toEqual([
      [byBoth, ['EMAIL', 'NAME', 'TEST', 'LAST_NAME']],
      [byMail, ['EMAIL', 'TEST']],
      [byName, ['NAME', 'TEST', 'LAST_NAME']],
      [byLast, ['TEST', 'LAST_NAME']],
    ]);
  });

  it('suggests exams by the codes and locator of an unmatched result, and by the candidate_id of an account result', async () => {
    const booked = await app.given.booking(scene, eligibility);
    const locator = app.given.unique('L-');
    const other = await exam({});
    await deliveries.register(
      scene.token,
      registrationBody({ examMetaData: { examCode: other, extRecordLocator: locator } }),
    );
    const names = { examTakerFirstName: '', examTakerLastName: '' };
    const unmatched = await refused({
      examMetaData: { examCode: booked['booking_code'], extRecordLocator: locator },
      ...names,
    });
    expect(await likely(unmatched)).toEqual([
      [id, ['BOOKING_CODE']],
      [other, ['RECORD_LOCATOR']],
    ]);
    const ofAccount = await refusedAccount(candidate, { result_id: 'R-1' }).catch(() => null);
    expect(ofAccount).toBeNull();
    await deliveries.put(scene, accountBody('SOMEBODY', { result_id: 'R-1', marker: 1 }));
    const [{ id: conflict }] = await list();
    expect(await likely(conflict)).toEqual([]);
    await app.given.sql(`UPDATE unmatched_results SET body = replace(body, 'SOMEBODY', lower($2)) WHERE id = $1`, [
      conflict,
      candidate,
    ]);
    expect(await likely(conflict)).toEqual([[id, ['CANDIDATE_ID']]]);
  });

  it.each([
    ['without its hyphen', 'RN100020', 'ID_SPELLING'],
    ['with blanks, in small letters', ' rn 100 020', 'ID_SPELLING'],
    ['with another character', 'RN-100021', 'ID_ONE_CHARACTER'],
    ['with a character too few', 'RN-10002', 'ID_ONE_CHARACTER'],
    ['with an additional character, and dots', 'RN.1000.203', 'ID_ONE_CHARACTER'],
    ['with two characters that changed places', 'RN-010020', 'ID_ONE_CHARACTER'],
  ])('suggests exams for an unmatched result with a misspelled id: %s', async (_how, given, because) => {
    const own = await exam({ candidate_id: 'RN-100020', first_name: 'A', last_name: 'B' });
    const ownClient = await app.given.eligibility(scene, { client_eligibility_id: 'RN-100020' });
    await exam({ candidate_id: 'RN-100999' });
    await exam({ candidate_id: 'RN-100020' }, await app.given.scene());
    const spelled = [own, ownClient['svc_eligiblity_id']];
    expect((await deliveries.put(scene, accountBody(given, { result_id: null }))).status).toBe(400);
    const [{ id: ofAccount }] = await list();
    const found = await likely(ofAccount);
    expect(found).toEqual(expect.arrayContaining(spelled.map((svc) => [svc, [because]])));
    expect(found).toHaveLength(2);
    const names = { examTakerFirstName: '', examTakerLastName: '' };
    const ofRegistration = await refused({ examMetaData: { examCode: given }, ...names });
    expect((await likely(ofRegistration)).map(([svc]) => svc as string).sort()).toEqual(spelled.sort());
  });

  it('suggests exams for an unmatched result with a misspelled booking code or record locator', async () => {
    const { booking_code: code } = await app.given.booking(scene, eligibility);
    const other = await exam({});
    const locator = app.given.unique('Loc-');
    await deliveries.register(
      scene.token,
      registrationBody({ examMetaData: { examCode: other, extRecordLocator: locator } }),
    );
    const names = { examTakerFirstName: '', examTakerLastName: '' };
    const text = code as string;
    const dashed = `${text.slice(0, 4)}-${text.slice(4)}`.toLowerCase();
    const unmatched = await refused({
      examMetaData: { examCode: dashed, extRecordLocator: locator.replace('-', ' ') },
      ...names,
    });
    const found = await likely(unmatched);
    expect(found).toContainEqual([id, ['ID_SPELLING']]);
    expect(found).toContainEqual([other, ['ID_SPELLING']]);
  });

  it("suggests only exams of the caller's accounts, and no exam for a result without a code, name or e-mail address", async () => {
    const nothing = await refused({ examTakerFirstName: null, examTakerLastName: '  ' });
    expect(await likely(nothing)).toEqual([]);
    const both = await app.given.token([scene.account, (await app.given.scene()).account]);
    await deliveries.register(both, registrationBody({ marker: app.given.unique('m'), examTakerLastName: 'Lovelace' }));
    const [{ id: unmatched }] = await list();
    expect(await likely(unmatched)).toEqual([[id, ['NAME', 'LAST_NAME']]]);
    const support = await app.given.token([(await app.given.scene()).account], ['support']);
    const path = `/admin/unmatched-results/${unmatched}/candidates`;
    expect((await app.call('GET', path, { token: support })).body.code).toBe('unmatched_result_not_found');
  });
});
