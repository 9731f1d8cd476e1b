import { startApp, type Answer, type TestApp } from '../support/app';
import { Deliveries, registrationBody } from '../support/deliveries';

/** Tests section 9 of the contract: the routes with which operators read candidates and their records. */
let app: TestApp;
let operator: string;
let mine: Awaited<ReturnType<TestApp['given']['scene']>>;
let foreign: typeof mine;
let support: string;

beforeAll(async () => {
  app = await startApp();
  operator = await app.given.operator();
});
beforeEach(async () => {
  mine = await app.given.scene();
  foreign = await app.given.scene();
  support = await app.given.token([mine.account], ['support']);
});
afterAll(() => app.close());

const get = (path: string, token = operator) => app.call('GET', path, { token });
const post = (path: string, body?: unknown) => app.call('POST', path, { token: operator, body });
const refusal = ({ status, body }: Answer) => [status, body.code];
const idsOf = ({ body }: Answer) =>
  (body as Record<string, unknown>[]).map(({ svc_eligiblity_id }) => svc_eligiblity_id);

async function needingApproval(scene: typeof mine, changes: { candidate?: object } & Record<string, unknown> = {}) {
  const accommodation = await app.given.accommodation(scene.account, true);
  const { candidate, ...rest } = changes;
  return app.given.eligibility(scene, {
    candidate: { special_accommodations: [accommodation], ...candidate },
    ...rest,
  });
}

describe('the records of a candidate', () => {
  it('an operator sees the hold reason and booking of a record, and the actions that its state allows', async () => {
    const voucher = await app.given.voucher(mine.account);
    const record = await app.given.eligibility(mine, { voucher_codes: [voucher] });
    const id = record['svc_eligiblity_id'] as string;
    const candidate = record['candidate'].candidate_id as string;
    const one = async () => (await get(`/admin/eligibilities/${id}`)).body;
    const open = ['UPDATE', 'CANCEL', 'HOLD', 'SET_VOUCHERS', 'BOOK', 'RESULT', 'LAUNCH'];
    expect(await one()).toEqual({
      ...record,
      account_code: mine.account,
      accommodations: [],
      hold_reason: null,
      approval_pending: false,
      decline_reason: null,
      booking_code: null,
      booking_on: null,
      voucher_codes: [voucher],
      allows: open,
      updated_datetime: expect.any(String),
    });
    await post(`/admin/eligibilities/${id}/hold`, { reason: 'The fee is open.' });
    expect(await one()).toMatchObject({
      status: 'PENDING',
      hold_reason: 'The fee is open.',
      allows: ['UPDATE', 'CANCEL', 'HOLD', 'RELEASE', 'SET_VOUCHERS', 'RESULT'],
    });
    await post(`/admin/eligibilities/${id}/release`);
    const booking = await app.given.booking(mine, record);
    expect(await one()).toMatchObject({
      status: 'SCHEDULED',
      booking_code: booking['booking_code'],
      booking_on: booking['booking_on'],
      allows: ['UPDATE', 'HOLD', 'MOVE_BOOKING', 'CANCEL_BOOKING', 'EXCUSED_ABSENCE', 'ABSENCE', 'RESULT', 'LAUNCH'],
    });
    const all = await get(`/admin/accounts/${mine.account}/candidates/${candidate}`);
    expect(all.body).toEqual([await one()]);
    const bookings = await get(`/admin/accounts/${mine.account}/candidates/${candidate}/bookings`);
    expect(bookings.body).toEqual([booking]);
  });

  it("an operator is offered no booking before the record's window, and no approval of accommodations already approved", async () => {
    const later = new Date(Date.now() + 86_400_000).toISOString().slice(0, 19) + 'Z';
    const record = await needingApproval(mine, { schedule_start_date: later });
    const path = `/admin/eligibilities/${record['svc_eligiblity_id']}`;
    const allows = async () => (await get(path)).body.allows;
    expect(await allows()).toContain('APPROVE');
    await post(`${path}/approve-accommodations`);
    for (const action of ['APPROVE', 'BOOK', 'LAUNCH']) expect(await allows()).not.toContain(action);
  });

  it('the lists of changes and audit rows of a candidate contain nothing about other candidates', async () => {
    const record = await app.given.eligibility(mine);
    await app.given.eligibility(mine);
    const candidate = record['candidate'].candidate_id as string;
    const booking = await app.given.booking(mine, record);
    const path = `/admin/accounts/${mine.account}/candidates/${candidate}`;
    const changes = (await get(`${path}/changes`)).body as Record<string, any>[];
    expect(changes.map(({ change }) => change)).toEqual(['SCHEDULED', 'CREATED']);
    expect(changes[0]['notification']).toMatchObject({ booking_code: booking['booking_code'] });
    const first = await get(`${path}/audit?limit=1`);
    expect(first.body).toEqual([
      expect.objectContaining({ subject: booking['booking_code'], action: 'booking.create' }),
    ]);
    const next = /<([^>]+)>/.exec(first.headers.get('link')!)![1].slice(app.url.length);
    expect((await get(next)).body).toEqual([
      expect.objectContaining({ subject: record['svc_eligiblity_id'], action: 'eligibility.create' }),
    ]);
  });

  it('the list of results omits photos and video links; a separate request returns each of them and writes an audit row', async () => {
    const deliveries = new Deliveries(app);
    const record = await app.given.eligibility(mine);
    const id = record['svc_eligiblity_id'] as string;
    const photo = Buffer.from('a face').toString('base64');
    const examApiData = { examPassword: 'open sesame', more: 1 };
    await deliveries.register(
      mine.token,
      registrationBody({
        examMetaData: { examCode: id },
        examApiData,
        userPhotoBase64String: photo,
        videoReviewLink: 'https://video.example/1',
      }),
    );
    const path = `/admin/accounts/${mine.account}/candidates/${record['candidate'].candidate_id}/results`;
    const { body } = await get(path, support);
    expect(body).toEqual([
      {
        svc_eligiblity_id: id,
        test_code: mine.testCode,
        revision: 1,
        source: 'REGISTRATION',
        faults: [],
        received_datetime: expect.any(String),
        username: expect.any(String),
        simulated: false,
        state: 'RELEASED',
        state_reason: null,
        has_photo: true,
        has_video_link: true,
      },
    ]);
    const reads = async () =>
      ((await get(`/admin/audit?subject=${id}`)).body as Record<string, any>[])
        .map(({ action }) => action as string)
        .filter((action) => action.startsWith('result.read'));
    const without = await get(`/admin/eligibilities/${id}/results/1`, support);
    expect(without.body).toMatchObject({ revision: 1, body: { examApiData: { more: 1 } } });
    expect(without.text).not.toContain(photo);
    expect(await reads()).toEqual([]);
    const hidden = await get(`/admin/eligibilities/${id}/results/1?media=true`, support);
    expect(hidden.body.body).not.toHaveProperty('userPhotoBase64String');
    expect(await reads()).toEqual([]);
    const withResults = await app.given.token([mine.account], ['support', 'results']);
    const whole = await get(`/admin/eligibilities/${id}/results/1?media=true`, withResults);
    expect(whole.body.body).toMatchObject({ userPhotoBase64String: photo, videoReviewLink: 'https://video.example/1' });
    expect((await reads()).sort()).toEqual(['result.read-photo', 'result.read-video-link']);
    for (const { text } of [without, hidden, whole]) expect(text).not.toContain('open sesame');
    expect(refusal(await get(`/admin/eligibilities/${id}/results/2`))).toEqual([404, 'not_found']);
    expect((await get(`/admin/eligibilities/${id}/results/0`)).status).toBe(400);
  });

  it("a request for a candidate's records is refused if the caller may not access the account or the candidate is unknown", async () => {
    const record = await app.given.eligibility(foreign);
    const candidate = record['candidate'].candidate_id as string;
    const ofCandidate = (account: string, id: string) => `/admin/accounts/${account}/candidates/${id}`;
    for (const rest of ['', '/bookings', '/results', '/changes', '/audit']) {
      expect(refusal(await get(ofCandidate(foreign.account, candidate) + rest, support))).toEqual([
        403,
        'account_forbidden',
      ]);
      expect(refusal(await get(ofCandidate(foreign.account, candidate) + rest, mine.token))).toEqual([
        403,
        'insufficient_scope',
      ]);
      expect(refusal(await get(ofCandidate(mine.account, 'nobody') + rest))).toEqual([404, 'candidate_not_found']);
    }
    const id = record['svc_eligiblity_id'] as string;
    expect(refusal(await get(`/admin/eligibilities/${id}`, support))).toEqual([404, 'eligibility_not_found']);
    expect(refusal(await get('/admin/eligibilities/AB2CD3EF'))).toEqual([404, 'eligibility_not_found']);
    await app.given.sql(
      `INSERT INTO result_revisions (svc_eligiblity_id, revision, account_code, source, body, body_hash, simulated, username, received_datetime)
       VALUES ($1, 1, $2, 'ACCOUNT', '{}', '', false, 'driver', now())`,
      [id, foreign.account],
    );
    expect(refusal(await get(`/admin/eligibilities/${id}/results/1`, support))).toEqual([404, 'not_found']);
  });
});

describe('the records that wait for an operator', () => {
  const waiting = (wait: string, more = '', token = operator) =>
    get(`/admin/eligibilities?waiting_for=${wait}${more}`, token);

  it('the records that wait for an operator are the records on hold and those that need an approval, in all accounts', async () => {
    const approval = (await needingApproval(mine))['svc_eligiblity_id'];
    const held = (await app.given.eligibility(foreign))['svc_eligiblity_id'];
    const both = (await needingApproval(foreign))['svc_eligiblity_id'];
    for (const id of [held, both]) await post(`/admin/eligibilities/${id}/hold`, { reason: 'Identity' });
    const approvals = await waiting('APPROVAL');
    expect(idsOf(approvals).slice(0, 2)).toEqual([both, approval]);
    // The helper gives each accommodation a name that equals its code.
    for (const { accommodations, candidate } of approvals.body)
      expect(accommodations).toEqual(
        (candidate.special_accommodations as string[]).map((code) => ({ accommodation_code: code, name: code })),
      );
    expect(idsOf(await waiting('HOLD')).slice(0, 2)).toEqual([both, held]);
    expect(idsOf(await waiting('HOLD', `&account_code=${mine.account}`))).toEqual([]);
    expect(idsOf(await waiting('APPROVAL', '', support))).toEqual([approval]);
    await post(`/admin/eligibilities/${both}/approve-accommodations`);
    expect(idsOf(await waiting('APPROVAL', `&account_code=${foreign.account}`))).toEqual([]);
    const [first] = (await waiting('HOLD')).body;
    expect(first).toMatchObject({ account_code: foreign.account, hold_reason: 'Identity', approval_pending: false });
  });

  it('the list of waiting records excludes booked, cancelled and expired records', async () => {
    const record = await needingApproval(mine);
    const id = record['svc_eligiblity_id'];
    await app.given.sql(
      `UPDATE eligibilities SET eligibility_end_date = now() - interval '1 second' WHERE svc_eligiblity_id = $1`,
      [id],
    );
    expect(idsOf(await waiting('APPROVAL', `&account_code=${mine.account}`))).toEqual([]);
  });

  it('the list of waiting records can be read page by page', async () => {
    const made: unknown[] = [];
    for (let n = 0; n < 3; n++) made.unshift((await needingApproval(mine))['svc_eligiblity_id']);
    const first = await waiting('APPROVAL', `&account_code=${mine.account}&limit=2`);
    const next = /<([^>]+)>/.exec(first.headers.get('link')!)![1].slice(app.url.length);
    expect([...idsOf(first), ...idsOf(await get(next))]).toEqual(made);
  });

  it('the list of waiting records answers 400 without a valid reason or with an unknown account, and 403 for a forbidden account', async () => {
    expect(refusal(await waiting('NOTHING'))).toEqual([400, 'validation_error']);
    expect((await get('/admin/eligibilities')).status).toBe(400);
    expect(refusal(await waiting('HOLD', '&account_code=NOSUCHACCOUNT'))).toEqual([400, 'account_not_found']);
    expect(refusal(await waiting('HOLD', `&account_code=${foreign.account}`, support))).toEqual([
      403,
      'account_forbidden',
    ]);
  });

  it('the list of waiting records is read from an index that contains no other records', async () => {
    await app.given.records(20_000, foreign, { updated_datetime: `'2020-01-01Z'` });
    await app.given.sql('ANALYZE eligibilities');
    await needingApproval(mine);
    const read = await app.given.recordsRead(async () => {
      await waiting('APPROVAL');
      await waiting('HOLD');
    });
    expect(read).toBeLessThan(2000);
  });
});
