import { faultsOf } from '../support/answers';
import { startApp, type TestApp } from '../support/app';
import { dateTime } from '../support/given';

let app: TestApp;
let scene: Awaited<ReturnType<TestApp['given']['scene']>>;

beforeAll(async () => {
  app = await startApp();
  scene = await app.given.scene();
});
afterAll(() => app.close());

const create = (body: unknown) =>
  app.call('POST', `/accounts/${scene.account}/candidates`, { token: scene.token, body });
const body = (changes?: Parameters<TestApp['given']['eligibilityBody']>[1]) =>
  app.given.eligibilityBody(scene.testCode, changes);
const count = async (candidateId: string) =>
  (await app.given.sql('SELECT count(*) AS n FROM eligibilities WHERE candidate_id = $1', [candidateId]))[0]['n'];

describe('§5 Create', () => {
  it('POST of an eligibility answers 200 with every member of the Eligibility Response Model, and null or [] for missing values', async () => {
    const end = dateTime(Date.now() + 86_400_000);
    const answer = await create({
      test_code: scene.testCode,
      eligibility_end_date: end,
      candidate: { candidate_id: 'minimal', first_name: 'Ada', last_name: 'Lovelace' },
    });
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      svc_eligiblity_id: expect.stringMatching(/^[ABCDEFGHJKMNPQRSTVWXYZ23456789]{8}$/),
      client_eligibility_id: null,
      test_code: scene.testCode,
      portion_codes: ['MAIN'],
      status: 'ELIGIBLE',
      eligible_to_schedule: true,
      eligibility_status_message: null,
      schedule_start_date: null,
      eligibility_end_date: end,
      created_datetime: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      candidate: {
        ...{ candidate_id: 'minimal', first_name: 'Ada', middle_name: null, last_name: 'Lovelace', suffix: null },
        ...{ address1: null, address2: null, city: null, province_state: null, postal_code: null, country: null },
        ...{ email: null, home_phone: null, office_phone: null, school_code: null },
        ...{ special_accommodations: [], additional_attributes: [] },
      },
    });
  });

  it('every member that was sent is stored: GET returns the same record as the response to POST', async () => {
    const [school, accommodation, key] = await Promise.all([
      app.given.school(scene.account),
      app.given.accommodation(scene.account, false),
      app.given.attributeKey(scene.account),
    ]);
    const sent = body({
      client_eligibility_id: app.given.unique('EL-'),
      schedule_start_date: '2026-01-01T00:00:00Z',
      registration_mode: 'Import',
      candidate: {
        ...{ middle_name: 'King', suffix: 'III', address1: '1 Main St', address2: 'Flat 2', city: 'Albany' },
        ...{ postal_code: '12207', home_phone: '+1 518 555 0100', office_phone: '+1 518 555 0101' },
        school_code: school,
        special_accommodations: [accommodation, accommodation],
        additional_attributes: [{ key, value: 'Größe\u200f 42 “x”' }],
      },
    });
    const created = await create(sent);
    const { registration_mode: _mode, candidate, ...rest } = sent;
    expect(created.body).toMatchObject({
      ...rest,
      candidate: { ...candidate, special_accommodations: [accommodation] },
    });
    const read = await app.call('GET', `/accounts/${scene.account}/candidates/${candidate.candidate_id}`, {
      token: scene.token,
    });
    expect(read.body).toEqual([created.body]);
  });

  it('the response to POST contains the stored values of a record, not the values that were sent', async () => {
    await app.given.sql(`CREATE FUNCTION other_suffix() RETURNS trigger LANGUAGE plpgsql
      AS $$ BEGIN NEW.suffix = 'III'; RETURN NEW; END $$`);
    await app.given.sql(`CREATE TRIGGER other_suffix BEFORE INSERT ON eligibilities FOR EACH ROW
      WHEN (NEW.suffix = 'Jr') EXECUTE FUNCTION other_suffix()`);
    const created = await create(body({ candidate: { suffix: 'Jr' } }));
    expect(created.body.candidate.suffix).toBe('III');
  });

  it('a new record is PENDING if an accommodation requires approval, and ELIGIBLE otherwise', async () => {
    const free = await app.given.accommodation(scene.account, false);
    const reviewed = await app.given.accommodation(scene.account, true);
    const pending = await create(body({ candidate: { special_accommodations: [free, reviewed] } }));
    expect(pending.body).toMatchObject({ status: 'PENDING', eligible_to_schedule: false });
    expect(pending.body.eligibility_status_message).toEqual(expect.any(String));
    const eligible = await create(body({ candidate: { special_accommodations: [free] } }));
    expect(eligible.body).toMatchObject({ status: 'ELIGIBLE', eligibility_status_message: null });
  });

  it('before its window begins, a record is ELIGIBLE but not eligible_to_schedule, and a message states the reason', async () => {
    const { body: record } = await create(body({ schedule_start_date: dateTime(Date.now() + 3_600_000) }));
    expect(record).toMatchObject({ status: 'ELIGIBLE', eligible_to_schedule: false });
    expect(record.eligibility_status_message).toEqual(expect.any(String));
  });

  it('read-only members of an eligibility are ignored, whatever their values', async () => {
    const answer = await create({
      ...body(),
      ...{ status: 'COMPLETED', eligible_to_schedule: 'no', eligibility_status_message: { constructor: [] } },
      ...{ created_datetime: 0, svc_eligiblity_id: 'AAAAAAAA' },
    });
    expect(answer.body).toMatchObject({ status: 'ELIGIBLE', eligible_to_schedule: true });
    expect(answer.body.svc_eligiblity_id).not.toBe('AAAAAAAA');
  });

  it('§2 a create request with unknown members is refused, and the response suggests the nearest known name', async () => {
    const { candidate, ...rest } = body();
    const answer = await create({
      ...rest,
      testcode: 'X',
      portions: ['X'],
      vouchers: ['X'],
      candidateId: 'X',
      candidate: { ...candidate, 'first/na~me': 'X', phone: '1' },
    });
    expect(answer.body.code).toBe('validation_error');
    expect(faultsOf(answer).sort()).toEqual([
      '/candidate/first~1na~0me unknown_field',
      '/candidate/phone unknown_field',
      '/candidateId unknown_field',
      '/portions unknown_field',
      '/testcode unknown_field',
      '/vouchers unknown_field',
    ]);
    const hint = (pointer: string) =>
      answer.body.errors.find((fault: { pointer: string }) => fault.pointer === pointer).detail as string;
    expect(hint('/testcode')).toContain('"test_code"');
    expect(hint('/portions')).toContain('"portion_codes"');
    expect(hint('/vouchers')).toContain('"voucher_codes"');
    expect(hint('/candidateId')).toContain('"candidate_id" in "candidate"');
    expect(hint('/candidate/first~1na~0me')).toContain('"first_name"');
  });

  it('§2 a refused create request gets every fault in one response: form, window, catalogue, portions and vouchers', async () => {
    const several = await app.given.test(scene.account, {
      portions: [
        { portion_code: 'P1', portion_name: null },
        { portion_code: 'P2', portion_name: null },
      ],
    });
    const expired = await app.given.voucher(scene.account, { valid_until: new Date(0) });
    const good = await app.given.voucher(scene.account);
    const answer = await create({
      ...app.given.eligibilityBody(several, {
        candidate: {
          ...{ country: 'QQ', email: 'x', school_code: 'NONE', special_accommodations: ['NONE'] },
          ...{ additional_attributes: [{ key: 'none', value: 'v' }], first_name: undefined, shoe_size: 42 },
        },
      }),
      ...{ schedule_start_date: '2027-02-30T00:00:00Z', eligibility_end_date: '2020-01-01T00:00:00Z' },
      voucher_codes: ['NONE', good, expired, 5],
    });
    expect(faultsOf(answer).sort()).toEqual(
      [
        ...['/schedule_start_date date_time_invalid', '/eligibility_end_date end_date_past'],
        ...['/portion_codes portion_required', '/candidate/first_name required', '/candidate/shoe_size unknown_field'],
        ...['/candidate/country country_invalid', '/candidate/email email_invalid'],
        ...['/candidate/school_code school_code_unknown'],
        ...['/candidate/special_accommodations/0 accommodation_unknown'],
        ...['/candidate/additional_attributes/0/key attribute_key_unknown'],
        ...['/voucher_codes/0 voucher_unknown', '/voucher_codes/2 voucher_expired', '/voucher_codes/3 type_invalid'],
      ].sort(),
    );
    const [voucher] = await app.given.sql('SELECT uses FROM vouchers WHERE voucher_code = $1', [good]);
    expect(voucher).toEqual({ uses: 0 });
  });

  it('an eligibility for a test with portions must have at least one known portion', async () => {
    const portions = ['P1', 'P2'].map((portion_code) => ({ portion_code, portion_name: null }));
    const several = await app.given.test(scene.account, { portions });
    const withPortions = (codes?: unknown) => create({ ...app.given.eligibilityBody(several), portion_codes: codes });
    for (const none of [undefined, null, []])
      expect(faultsOf(await withPortions(none))).toEqual(['/portion_codes portion_required']);
    expect(faultsOf(await withPortions(['P1', 'p2']))).toEqual(['/portion_codes/1 portion_unknown']);
    expect((await withPortions(['P2', 'P2', 'P1'])).body.portion_codes).toEqual(['P2', 'P1']);
  });

  it('a record and its redemptions are created in one transaction: if one voucher code is invalid, neither is stored', async () => {
    const good = await app.given.voucher(scene.account);
    const refused = await create(
      body({ voucher_codes: [good, 'NONE', 'NONE'], candidate: { candidate_id: 'refused' } }),
    );
    expect([refused.status, faultsOf(refused)]).toEqual([400, ['/voucher_codes/1 voucher_unknown']]);
    expect(await count('refused')).toBe(0);
    const accepted = await create(body({ voucher_codes: [good, good] }));
    expect(accepted.status).toBe(200);
    const [voucher] = await app.given.sql('SELECT uses FROM vouchers WHERE voucher_code = $1', [good]);
    expect(voucher).toEqual({ uses: 1 });
  });
});

describe('§5 Create: one live record for account, candidate and test', () => {
  it('a second open record is refused with duplicate_eligibility and the id of the existing record', async () => {
    const sent = body();
    const first = await create(sent);
    const second = await create(sent);
    expect([second.status, second.body.code]).toEqual([400, 'duplicate_eligibility']);
    expect(second.body.svc_eligiblity_id).toBe(first.body.svc_eligiblity_id);
  });

  it.each(['COMPLETED', 'ABSENT', 'EXPIRED', 'CANCELLED'])(
    'a candidate with a %s record can get a new record for the same test',
    async (status) => {
      const sent = body();
      const { body: first } = await create(sent);
      await app.given.sql('UPDATE eligibilities SET status = $2 WHERE svc_eligiblity_id = $1', [
        first.svc_eligiblity_id,
        status,
      ]);
      expect((await create(sent)).status).toBe(200);
    },
  );

  it('a new record can be created when the window of the old record is over, and the old record becomes EXPIRED', async () => {
    const sent = body();
    const { body: first } = await create(sent);
    await app.given.sql(`UPDATE eligibilities SET eligibility_end_date = now() WHERE svc_eligiblity_id = $1`, [
      first.svc_eligiblity_id,
    ]);
    const second = await create(sent);
    expect(second.status).toBe(200);
    const read = await app.call('GET', `/accounts/${scene.account}/candidates/${sent['candidate'].candidate_id}`, {
      token: scene.token,
    });
    expect(read.body.map((record: any) => [record.svc_eligiblity_id, record.status])).toEqual([
      [second.body.svc_eligiblity_id, 'ELIGIBLE'],
      [first.svc_eligiblity_id, 'EXPIRED'],
    ]);
  });

  it("POST of an eligibility reads only the candidate's records for the test, however many other records have expired", async () => {
    for (let n = 0; n < 10; n++) expect((await create(body())).status).toBe(200);
    await app.given.records(20_000, scene, { candidate_id: `'over-' || n`, status: `'EXPIRED'` });
    const read = await app.given.recordsRead(async () => {
      for (let n = 0; n < 10; n++) expect((await create(body())).status).toBe(200);
    });
    expect(read).toBeLessThan(2000);
  });

  it('a candidate can have a record for another test, and a record for the same test in another account', async () => {
    const sent = body();
    await create(sent);
    const otherTest = await app.given.test(scene.account);
    expect((await create({ ...sent, test_code: otherTest })).status).toBe(200);
    const other = await app.given.scene({ test_code: scene.testCode });
    const elsewhere = await app.call('POST', `/accounts/${other.account}/candidates`, {
      token: other.token,
      body: sent,
    });
    expect(elsewhere.status).toBe(200);
  });

  it('a client_eligibility_id must be unique per account among records that are not CANCELLED', async () => {
    const id = app.given.unique('EL-');
    const first = body({ client_eligibility_id: id });
    await create(first);
    const second = await create(body({ client_eligibility_id: id }));
    expect([second.status, second.body.code, faultsOf(second)]).toEqual([
      400,
      'client_eligibility_id_in_use',
      ['/client_eligibility_id client_eligibility_id_in_use'],
    ]);
    const path = `/accounts/${scene.account}/candidates/${first['candidate'].candidate_id}/tests/${scene.testCode}`;
    await app.call('DELETE', path, { token: scene.token });
    expect((await create(body({ client_eligibility_id: id }))).status).toBe(200);
  });

  it('a second record of a candidate does not change the candidate data of the first record', async () => {
    const sent = body();
    await create(sent);
    const otherTest = await app.given.test(scene.account);
    await create({ ...sent, test_code: otherTest, candidate: { ...sent['candidate'], last_name: 'King' } });
    const read = await app.call('GET', `/accounts/${scene.account}/candidates/${sent['candidate'].candidate_id}`, {
      token: scene.token,
    });
    expect(read.body.map((record: any) => record.candidate.last_name)).toEqual(['King', 'Lovelace']);
  });
});
