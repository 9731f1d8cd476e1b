import { examPath, faultsOf } from '../support/answers';
import { startApp, type TestApp } from '../support/app';
import { dateTime } from '../support/given';

let app: TestApp;
let scene: Awaited<ReturnType<TestApp['given']['scene']>>;

beforeAll(async () => {
  app = await startApp();
  scene = await app.given.scene({
    portions: ['P1', 'P2'].map((portion_code) => ({ portion_code, portion_name: null })),
  });
});
afterAll(() => app.close());

type Record_ = Record<string, any>;
const DAY = 86_400_000;

const create = (changes: Parameters<TestApp['given']['eligibility']>[1] = {}) =>
  app.given.eligibility(scene, { portion_codes: ['P1'], ...changes });
const read = async (record: Record_) =>
  ((await app.call('GET', examPath(scene, record), { token: scene.token })).body as Record_[])[0];
const put = (record: Record_, body: unknown) => app.call('PUT', examPath(scene, record), { token: scene.token, body });
/** Builds an update with the required members and the given changes. */
const update = (record: Record_, { candidate, ...rest }: Record_ = {}) => {
  const { candidate_id, first_name, last_name } = record['candidate'];
  return put(record, {
    test_code: record['test_code'],
    candidate: { candidate_id, first_name, last_name, ...candidate },
    ...rest,
  });
};
const setStatus = (record: Record_, status: string) =>
  app.given.sql('UPDATE eligibilities SET status = $2 WHERE svc_eligiblity_id = $1', [
    record['svc_eligiblity_id'],
    status,
  ]);
const vouchersOf = async (record: Record_) =>
  (
    await app.given.sql('SELECT voucher_code FROM voucher_redemptions WHERE svc_eligiblity_id = $1', [
      record['svc_eligiblity_id'],
    ])
  ).map((row) => row['voucher_code'] as string);

describe('§5 Update', () => {
  it('an update is answered with 204 and no body, and members that the request omits stay unchanged', async () => {
    const record = await create({ client_eligibility_id: app.given.unique('EL-'), candidate: { suffix: 'III' } });
    const answer = await update(record, { candidate: { city: 'Troy' } });
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect(await read(record)).toEqual({ ...record, candidate: { ...record['candidate'], city: 'Troy' } });
  });

  it('an update that contains null for a member of an eligibility clears the member', async () => {
    const key = await app.given.attributeKey(scene.account);
    const filled = {
      ...{ middle_name: 'K', suffix: 'S', address1: 'a', address2: 'b', city: 'c', postal_code: '1' },
      ...{ home_phone: '1', office_phone: '2', school_code: await app.given.school(scene.account) },
      additional_attributes: [{ key, value: 'v' }],
    };
    const record = await create({ schedule_start_date: '2026-01-01T00:00:00Z', candidate: filled });
    const names = [...Object.keys(filled), 'email', 'country', 'province_state'];
    const answer = await update(record, {
      ...{ schedule_start_date: null, eligibility_end_date: null, registration_mode: null, voucher_codes: null },
      candidate: Object.fromEntries(names.map((name) => [name, null])),
    });
    expect(answer.status).toBe(204);
    const cleared = await read(record);
    expect(cleared).toMatchObject({ schedule_start_date: null, eligibility_end_date: null, status: 'ELIGIBLE' });
    for (const name of names)
      expect([name, cleared['candidate'][name]]).toEqual([name, name === 'additional_attributes' ? [] : null]);
  });

  it('an update with the body that GET returned gets 204, and changes nothing, not even updated_datetime', async () => {
    const record = await create({ candidate: { address1: '1 Main St', country: 'us' } });
    const row = () =>
      app.given.sql('SELECT * FROM eligibilities WHERE svc_eligiblity_id = $1', [record['svc_eligiblity_id']]);
    const before = await row();
    expect((await put(record, await read(record))).status).toBe(204);
    expect(await row()).toEqual(before);
  });

  it.each([
    ['candidate.first_name'],
    ['candidate.last_name'],
    ['candidate.candidate_id'],
    ['test_code'],
    ['candidate'],
  ])('an update without %s is refused with the fault code "required", like a create request', async (path) => {
    const record = await create();
    const body = structuredClone(record);
    const [name, member] = path.split('.') as [string, string?];
    if (member) delete body[name][member];
    else delete body[name];
    const answer = await put(record, body);
    expect([answer.status, faultsOf(answer)]).toEqual([400, [`/${path.replace('.', '/')} required`]]);
    const nulled = await put(record, { ...body, [name]: member ? { ...body[name], [member]: null } : null });
    expect([nulled.status, faultsOf(nulled)]).toEqual([400, [`/${path.replace('.', '/')} required`]]);
  });

  it('§2 a refused update reports every fault in path, form, catalogue and vouchers at once, and changes nothing', async () => {
    const record = await create({
      schedule_start_date: '2027-01-01T00:00:00Z',
      eligibility_end_date: '2029-01-01T00:00:00Z',
    });
    const faulty = {
      ...{ eligibility_end_date: '2026-12-01T00:00:00Z', portion_codes: ['P2', 'NONE'], voucher_codes: ['NONE'] },
      candidate: {
        school_code: 'NONE',
        additional_attributes: [{ key: 'none', value: 'v' }],
        country: 'QQ',
        sufix: 'X',
      },
    };
    const expected = [
      ...['/eligibility_end_date end_date_before_start', '/portion_codes/1 portion_unknown'],
      ...['/voucher_codes/0 voucher_unknown', '/candidate/school_code school_code_unknown'],
      ...['/candidate/additional_attributes/0/key attribute_key_unknown', '/candidate/country country_invalid'],
      '/candidate/sufix unknown_field',
    ];
    expect(faultsOf(await update(record, faulty)).sort()).toEqual(expected.sort());
    expect(await read(record)).toEqual(record);
    const { country: _country, sufix: _sufix, ...candidate } = faulty.candidate;
    const wellFormed = await update(record, { ...faulty, candidate });
    expect(faultsOf(wellFormed).sort()).toEqual(
      expected.filter((fault) => !/country_invalid|unknown_field/.test(fault)).sort(),
    );
    const badPath = await app.call('PUT', `/accounts/${scene.account}/candidates/a%5Cb/tests/${scene.testCode}`, {
      token: scene.token,
      body: { ...record, test_code: 'A_B' },
    });
    expect(badPath.body.errors).toEqual([
      expect.objectContaining({ parameter: 'candidate_id', code: 'candidate_id_invalid' }),
      expect.objectContaining({ pointer: '/test_code', code: 'test_code_invalid' }),
    ]);
  });

  it("the form of an update is checked before the record's state: a malformed update gets 400 even if no record exists", async () => {
    const nobody = {
      test_code: scene.testCode,
      candidate: { candidate_id: 'nobody', first_name: 'A', last_name: 'B' },
    };
    expect((await put(nobody, nobody)).body).toMatchObject({ status: 404, code: 'eligibility_not_found' });
    const faulty = await put(nobody, { ...nobody, eligibility_end_date: 'tomorrow' });
    expect([faulty.status, faultsOf(faulty)]).toEqual([400, ['/eligibility_end_date date_time_invalid']]);
  });

  it('an update of members that may not change gets 403 forbidden_operation with a pointer to each, and changes nothing', async () => {
    const free = await app.given.accommodation(scene.account, false);
    const record = await create({ client_eligibility_id: app.given.unique('EL-') });
    const answer = await update(record, {
      ...{ test_code: 'ANOTHER', client_eligibility_id: 'ANOTHER' },
      candidate: { candidate_id: 'another', special_accommodations: [free, 'UNHEARD-OF'], last_name: 'King' },
    });
    expect([answer.status, answer.body.code, faultsOf(answer).sort()]).toEqual([
      403,
      'forbidden_operation',
      [
        '/candidate/candidate_id forbidden_operation',
        '/candidate/special_accommodations forbidden_operation',
        '/client_eligibility_id forbidden_operation',
        '/test_code forbidden_operation',
      ],
    ]);
    expect(await read(record)).toEqual(record);
    const cleared = await update(record, { client_eligibility_id: null });
    expect(faultsOf(cleared)).toEqual(['/client_eligibility_id forbidden_operation']);
  });

  it('an update cannot change the portions or vouchers of a SCHEDULED record, or set a window that excludes its booking', async () => {
    const held = await app.given.voucher(scene.account);
    const other = await app.given.voucher(scene.account);
    const record = await create({ voucher_codes: [held] });
    const booking = await app.given.booking(scene, record);
    const at = Date.parse(booking['booking_on'] as string);
    const cases: [Record_, string[]][] = [
      [{ portion_codes: ['P2'] }, ['/portion_codes']],
      [{ voucher_codes: [other] }, ['/voucher_codes']],
      [{ voucher_codes: null }, ['/voucher_codes']],
      [{ eligibility_end_date: dateTime(at - 1000) }, ['/eligibility_end_date']],
      [{ schedule_start_date: dateTime(at + 1000) }, ['/schedule_start_date']],
      [
        { portion_codes: ['P1', 'P2'], eligibility_end_date: dateTime(at - DAY) },
        ['/eligibility_end_date', '/portion_codes'],
      ],
    ];
    for (const [changes, pointers] of cases) {
      const answer = await update(record, { ...changes, candidate: { last_name: 'King' } });
      expect([answer.status, faultsOf(answer).sort()]).toEqual([
        403,
        pointers.map((pointer) => `${pointer} forbidden_operation`),
      ]);
    }
    expect((await read(record))['candidate']).toEqual(record['candidate']);
    const allowed = {
      portion_codes: ['P1'],
      voucher_codes: [held],
      eligibility_end_date: booking['booking_on'] as string,
    };
    expect((await update(record, { ...allowed, candidate: { last_name: 'King' } })).status).toBe(204);
    const now = await read(record);
    expect([now['status'], now['candidate'].last_name]).toEqual(['SCHEDULED', 'King']);
  });

  it('a record expires when an update moves its end date into the past, and revives when an update moves it into the future', async () => {
    const record = await create();
    expect((await update(record, { eligibility_end_date: '2020-01-01T00:00:00Z' })).status).toBe(204);
    expect(await read(record)).toMatchObject({ status: 'EXPIRED', eligible_to_schedule: false });
    expect((await update(record, { candidate: { city: 'Troy' } })).status).toBe(204);
    expect(await read(record)).toMatchObject({ status: 'EXPIRED', candidate: { city: 'Troy' } });
    expect((await update(record, { eligibility_end_date: '2999-01-01T00:00:00Z' })).status).toBe(204);
    expect(await read(record)).toMatchObject({ status: 'ELIGIBLE', eligible_to_schedule: true });
  });

  it('a revived record becomes PENDING again if it was PENDING before it expired', async () => {
    const reviewed = await app.given.accommodation(scene.account, true);
    const record = await create({ candidate: { special_accommodations: [reviewed] } });
    await update(record, { eligibility_end_date: '2020-01-01T00:00:00Z' });
    await setStatus(record, 'EXPIRED');
    await update(record, { eligibility_end_date: '2999-01-01T00:00:00Z' });
    expect(await read(record)).toMatchObject({ status: 'PENDING' });
  });

  it('an update adds its voucher codes to those of the record, and null removes all voucher codes', async () => {
    const [first, second] = [await app.given.voucher(scene.account), await app.given.voucher(scene.account)];
    const record = await create({ voucher_codes: [first] });
    expect((await update(record, { voucher_codes: [second, second] })).status).toBe(204);
    expect((await vouchersOf(record)).sort()).toEqual([first, second].sort());
    const refused = await update(record, { voucher_codes: [second, 'NONE'], candidate: { last_name: 'King' } });
    expect([refused.status, faultsOf(refused)]).toEqual([400, ['/voucher_codes/1 voucher_unknown']]);
    expect((await read(record))['candidate'].last_name).toBe('Lovelace');
    expect((await update(record, { voucher_codes: null })).status).toBe(204);
    expect(await vouchersOf(record)).toEqual([]);
  });

  it('more than 20 vouchers for a record are refused, and the other faults are reported in the same response', async () => {
    const codes: string[] = [];
    for (let at = 0; at < 21; at++) codes.push(await app.given.voucher(scene.account));
    const [extra, ...held] = codes;
    const record = await create({ voucher_codes: held });
    const more = { voucher_codes: [held[0], extra], candidate: { last_name: 'King' } };
    const refused = await update(record, more);
    expect([refused.status, refused.body.code, faultsOf(refused)]).toEqual([
      400,
      'validation_error',
      ['/voucher_codes too_many'],
    ]);
    expect(faultsOf(await update(record, { ...more, candidate: { country: 'QQ' } })).sort()).toEqual([
      '/candidate/country country_invalid',
      '/voucher_codes too_many',
    ]);
    expect([(await vouchersOf(record)).sort(), (await read(record))['candidate']]).toEqual([
      [...held].sort(),
      record['candidate'],
    ]);
    expect((await update(record, { voucher_codes: held })).status).toBe(204);
  });

  it('an update may repeat values of the record that have since been deleted from the catalogue', async () => {
    const key = await app.given.attributeKey(scene.account);
    const record = await create({ candidate: { additional_attributes: [{ key, value: 'v' }] } });
    await app.given.sql('DELETE FROM attribute_keys WHERE attribute_key = $1', [key]);
    expect((await put(record, await read(record))).status).toBe(204);
  });
});

describe('§5 Update: the record that is updated when there are several', () => {
  const cases: [string, string[], string | number][] = [
    ['changes the live record', ['EXPIRED', 'CANCELLED', 'ELIGIBLE'], 'ELIGIBLE'],
    ['changes the live record, although a newer record is closed', ['ELIGIBLE', 'COMPLETED'], 'ELIGIBLE'],
    ['changes the newest EXPIRED record if none is live', ['EXPIRED', 'EXPIRED', 'CANCELLED'], 'EXPIRED'],
    ['gets 403 eligibility_closed if the newest is COMPLETED', ['EXPIRED', 'COMPLETED'], 403],
    ['gets 403 eligibility_closed if the newest is ABSENT', ['CANCELLED', 'ABSENT'], 403],
    ['gets 404 eligibility_not_found if all are CANCELLED', ['CANCELLED'], 404],
  ];
  it.each(cases)(
    'an update for a candidate with several records %s (statuses of the records, oldest first: %j)',
    async (_title, statuses, expected) => {
      const body = app.given.eligibilityBody(scene.testCode, { portion_codes: ['P1'] });
      const ids: string[] = [];
      for (const status of statuses) {
        await app.given.sql(
          `UPDATE eligibilities SET status = 'CANCELLED' WHERE candidate_id = $1 AND status = 'ELIGIBLE'`,
          [body['candidate'].candidate_id],
        );
        const record = await app.given.eligibility(scene, body);
        ids.push(record['svc_eligiblity_id'] as string);
        if (status !== 'ELIGIBLE') await setStatus(record, status);
      }
      for (const [at, status] of statuses.entries())
        await app.given.sql('UPDATE eligibilities SET status = $2 WHERE svc_eligiblity_id = $1', [ids[at], status]);
      const answer = await update(body, { candidate: { city: 'Troy' } });
      if (typeof expected === 'number') {
        const code = { 403: 'eligibility_closed', 404: 'eligibility_not_found' }[expected];
        expect([answer.status, answer.body.code]).toEqual([expected, code]);
        return;
      }
      expect(answer.status).toBe(204);
      const changed = await app.given.sql(
        `SELECT svc_eligiblity_id FROM eligibilities WHERE candidate_id = $1 AND city = 'Troy'`,
        [body['candidate'].candidate_id],
      );
      expect(changed).toEqual([{ svc_eligiblity_id: ids[statuses.lastIndexOf(expected)] }]);
    },
  );
});
