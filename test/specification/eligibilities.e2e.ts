import { examPath } from '../support/answers';
import { startApp, type TestApp } from '../support/app';
import { testSentences } from './sentences';

const DATE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

let app: TestApp;
let scene: Awaited<ReturnType<TestApp['given']['scene']>>;
beforeAll(async () => {
  app = await startApp();
  scene = await app.given.scene();
});
afterAll(() => app.close());

const create = (changes: Record<string, unknown> = {}, testCode = scene.testCode) =>
  app.call('POST', `/accounts/${scene.account}/candidates`, {
    token: scene.token,
    body: app.given.eligibilityBody(testCode, changes),
  });
async function made(changes: Record<string, unknown> = {}): Promise<Record<string, any>> {
  const answer = await create(changes);
  expect(answer.status).toBe(200);
  return answer.body as Record<string, any>;
}
async function refused(changes: Record<string, unknown>, pointer: string): Promise<void> {
  const { status, body } = await create(changes);
  expect([status, body.errors.map((error: any) => error.pointer)]).toEqual([400, [pointer]]);
}
const candidate = (members: object) => ({ candidate: members });
const kept = (name: string, value: string) => async () => {
  expect((await made(candidate({ [name]: value })))['candidate'][name]).toBe(value);
  expect((await made())['candidate'][name]).toBe(null);
};
const required = (name: string) => async () => {
  await refused(candidate({ [name]: undefined }), `/candidate/${name}`);
  expect((await made(candidate({ [name]: 'Given-1' })))['candidate'][name]).toBe('Given-1');
};
const read = async (path: string) => (await app.call('GET', path, { token: scene.token })).body;
const attributes = (...entries: object[]) => candidate({ additional_attributes: entries });

describe('the Candidate Model', () =>
  testSentences({
    '2.1': async () => {
      const key = await app.given.attributeKey(scene.account);
      const entries = [{ key, value: 'A' }];
      expect((await made(attributes(...entries)))['candidate'].additional_attributes).toEqual(entries);
      expect((await made())['candidate'].additional_attributes).toEqual([]);
    },
    '2.2': async () => {
      await refused(attributes({ key: 'never-agreed', value: 'A' }), '/candidate/additional_attributes/0/key');
      await refused(attributes({ value: 'A' }), '/candidate/additional_attributes/0/key');
    },
    '2.3': async () => {
      const key = await app.given.attributeKey(scene.account);
      await refused(attributes({ key }), '/candidate/additional_attributes/0/value');
      await refused(attributes({ key, value: 1 }), '/candidate/additional_attributes/0/value');
    },
    '2.4': kept('address1', '1 Main St'),
    '2.5': kept('address2', 'Suite 9'),
    '2.6': required('candidate_id'),
    '2.7': kept('city', 'Albany'),
    '2.8': async () => {
      expect((await made(candidate({ country: 'DE', province_state: 'Hessen' })))['candidate'].country).toBe('DE');
      await refused(candidate({ country: 'XX', province_state: null }), '/candidate/country');
    },
    '2.9': async () => {
      expect((await made(candidate({ email: 'x@example.org' })))['candidate'].email).toBe('x@example.org');
      await refused(candidate({ email: 'nobody' }), '/candidate/email');
    },
    '2.10': required('first_name'),
    '2.11': kept('home_phone', '+1 555 0100'),
    '2.12': required('last_name'),
    '2.13': kept('middle_name', 'M'),
    '2.14': kept('office_phone', '+1 555 0101'),
    '2.15': kept('postal_code', '12207-1234'),
    '2.16': async () => {
      expect((await made(candidate({ country: 'US', province_state: 'NY' })))['candidate'].province_state).toBe('NY');
      await refused(candidate({ country: 'US', province_state: 'New York' }), '/candidate/province_state');
      await made(candidate({ country: 'CA', province_state: 'Ontario' }));
    },
    '2.17': async () => {
      const school_code = await app.given.school(scene.account);
      expect((await made(candidate({ school_code })))['candidate'].school_code).toBe(school_code);
      await refused(candidate({ school_code: 'NEVER' }), '/candidate/school_code');
    },
    '2.18': async () => {
      const codes = [await app.given.accommodation(scene.account, false)];
      expect((await made(candidate({ special_accommodations: codes })))['candidate'].special_accommodations).toEqual(
        codes,
      );
      await refused(candidate({ special_accommodations: ['NEVER'] }), '/candidate/special_accommodations/0');
    },
    '2.19': kept('suffix', 'Jr.'),
  }));

describe('the Eligibility Model', () =>
  testSentences({
    '3.1': async () => {
      const { status, body } = await app.call('POST', `/accounts/${scene.account}/candidates`, {
        token: scene.token,
        body: { test_code: scene.testCode },
      });
      expect([status, body.errors[0].pointer]).toEqual([400, '/candidate']);
    },
    '3.2': async () => {
      const id = `a.b_c-D${Date.now()}`;
      expect((await made({ client_eligibility_id: id }))['client_eligibility_id']).toBe(id);
      await refused({ client_eligibility_id: 'a b' }, '/client_eligibility_id');
    },
    '3.3': async () => {
      await refused({ eligibility_end_date: '2031-01-01' }, '/eligibility_end_date');
      await refused({ eligibility_end_date: '2020-01-01T00:00:00Z' }, '/eligibility_end_date');
    },
    '3.4': async () => {
      expect((await made())['portion_codes']).toEqual(['MAIN']);
      const two = await app.given.test(scene.account, {
        portions: ['A', 'B'].map((portion_code) => ({ portion_code, portion_name: null })),
      });
      expect((await create({}, two)).body.errors[0].pointer).toBe('/portion_codes');
      expect((await create({ portion_codes: ['B'] }, two)).body.portion_codes).toEqual(['B']);
    },
    '3.5': async () => {
      for (const mode of 'Online Phone Walkin Import Mail Email Fax IVR ExpressMail VoiceResponse Application'.split(
        ' ',
      ))
        await made({ registration_mode: mode });
      await refused({ registration_mode: 'Telegraph' }, '/registration_mode');
    },
    '3.6': async () => {
      const at = '2026-01-01T00:00:00Z';
      expect((await made({ schedule_start_date: at }))['schedule_start_date']).toBe(at);
      await refused({ schedule_start_date: '01/02/2026' }, '/schedule_start_date');
    },
    '3.7': async () => {
      const { body: problem } = await create({ test_code: 'under_score' });
      expect(problem.errors).toMatchObject([{ pointer: '/test_code', code: 'test_code_invalid' }]);
      const { status, body } = await create({ test_code: undefined });
      expect([status, body.errors[0].pointer]).toEqual([400, '/test_code']);
    },
    '3.8': async () => {
      const record = await made({ voucher_codes: [await app.given.voucher(scene.account)] });
      expect((await read(`${examPath(scene, record)}/vouchers`)).voucher_codes).toHaveLength(1);
      await refused({ voucher_codes: 'A,B' }, '/voucher_codes');
    },
  }));

describe('the Eligibility Response Model', () =>
  testSentences({
    '4.1': async () => {
      const body = app.given.eligibilityBody(scene.testCode);
      expect((await made(body))['candidate']).toMatchObject(body['candidate'] as object);
    },
    '4.2': async () => expect((await made())['client_eligibility_id']).toBeNull(),
    '4.3': async () => {
      const { created_datetime: at } = await made();
      expect(at).toMatch(DATE);
      expect(Math.abs(Date.parse(at as string) - Date.now())).toBeLessThan(60_000);
    },
    '4.4': async () => {
      const at = '2031-05-14T23:59:59Z';
      expect((await made({ eligibility_end_date: at }))['eligibility_end_date']).toBe(at);
    },
    '4.5': async () => {
      expect((await made())['eligibility_status_message']).toBeNull();
      const codes = [await app.given.accommodation(scene.account, true)];
      const waiting = await made(candidate({ special_accommodations: codes }));
      expect(waiting['eligibility_status_message']).toMatch(/accommodation/i);
    },
    '4.6': async () => {
      expect((await made())['eligible_to_schedule']).toBe(true);
      expect(
        (await made({ schedule_start_date: '2031-01-01T00:00:00Z', eligibility_end_date: null }))[
          'eligible_to_schedule'
        ],
      ).toBe(false);
    },
    '4.7': async () => expect((await made({ portion_codes: ['MAIN', 'MAIN'] }))['portion_codes']).toEqual(['MAIN']),
    '4.8': async () => {
      const ids = [await made(), await made()].map((record) => record['svc_eligiblity_id'] as string);
      for (const id of ids) expect(id).toMatch(/^[A-Z0-9]{8}$/);
      expect(ids[0]).not.toBe(ids[1]);
    },
    '4.9': async () => expect((await made())['schedule_start_date']).toBeNull(),
    '4.10': async () => expect((await made({ status: 'CANCELLED' }))['status']).toBe('ELIGIBLE'),
    '4.11': async () => expect((await made())['test_code']).toBe(scene.testCode),
    '4.12': async () => {
      const record = await made({ registration_mode: 'Online' });
      for (const name of ['registration_mode', 'voucher_codes']) expect(record).not.toHaveProperty(name);
    },
  }));

describe('the endpoints of eligibilities', () =>
  testSentences({
    '1.1': async () => {
      const record = await made();
      expect(await read(examPath(scene, record))).toEqual([record]);
    },
    '1.2': async () => {
      const record = await made();
      const done = (method: string, path: string, body?: object) =>
        app.call(method, path, { token: scene.token, body }).then(({ status }) => status);
      const body = app.given.eligibilityBody(scene.testCode, { candidate: record['candidate'] });
      expect(await done('PUT', examPath(scene, record), body)).toBe(204);
      expect(await done('PUT', `${examPath(scene, record)}/vouchers`, [])).toBe(204);
      expect(await done('GET', `/eligibilities/${record['svc_eligiblity_id']}/testLaunchInfo`)).toBe(200);
      expect(await done('DELETE', examPath(scene, record))).toBe(204);
    },
    '9.1': async () => {
      const { status, body } = await create();
      expect([status, Object.keys(body as object).sort()]).toEqual([
        200,
        [
          ...['candidate', 'client_eligibility_id', 'created_datetime', 'eligibility_end_date'],
          ...['eligibility_status_message', 'eligible_to_schedule', 'portion_codes', 'schedule_start_date'],
          ...['status', 'svc_eligiblity_id', 'test_code'],
        ],
      ]);
    },
    '9.2': async () => {
      const token = await app.given.operator();
      const codes = await Promise.all(
        ['A', 'B'].map(async (name) => (await app.call('POST', '/admin/accounts', { token, body: { name } })).body),
      );
      for (const { account_code } of codes) expect(account_code).toMatch(/^[A-Za-z0-9]{8,}$/);
      expect(codes[0].account_code).not.toBe(codes[1].account_code);
    },
    '9.3': async () => {
      const code = await app.given.voucher(scene.account);
      const record = await made({ voucher_codes: [code] });
      expect(await read(`${examPath(scene, record)}/vouchers`)).toEqual({ voucher_codes: [code] });
    },
    '9.4': async () => {
      const record = await made();
      const answer = await app.call('PUT', examPath(scene, record), { token: scene.token, body: record });
      expect([answer.status, answer.text]).toEqual([204, '']);
    },
    '9.5': async () => {
      const record = await made();
      const [start, end] = ['2026-02-01T00:00:00Z', '2031-02-01T00:00:00Z'];
      const changes = { schedule_start_date: start, eligibility_end_date: end };
      const body = { ...record, ...changes, candidate: { ...record['candidate'], city: 'Troy' } };
      await app.call('PUT', examPath(scene, record), { token: scene.token, body });
      expect(await read(examPath(scene, record))).toMatchObject([{ ...changes, candidate: { city: 'Troy' } }]);
    },
    '9.8': async () => {
      const record = await made();
      await app.call('DELETE', examPath(scene, record), { token: scene.token });
      expect(await read(examPath(scene, record))).toMatchObject([{ status: 'CANCELLED' }]);
    },
    '9.9': async () => {
      const { candidate_id } = (await made())['candidate'];
      const path = `/accounts/${scene.account}/candidates/${candidate_id}/eligibilities?status=`;
      expect([await read(`${path}ELIGIBLE`), await read(`${path}CANCELLED`)]).toMatchObject([
        [{ status: 'ELIGIBLE' }],
        [],
      ]);
    },
    '9.10': async () => {
      const record = await made();
      expect(await read(examPath(scene, record))).toMatchObject([{ test_code: scene.testCode }]);
    },
    '9.11': async () => {
      const record = await made();
      const { candidate_id } = record['candidate'];
      expect(await read(`/accounts/${scene.account}/candidates/${candidate_id}`)).toEqual([record]);
    },
    '9.12': async () => {
      const record = await made();
      const body = [await app.given.voucher(scene.account)];
      await app.call('PUT', `${examPath(scene, record)}/vouchers`, { token: scene.token, body });
      expect(await read(`${examPath(scene, record)}/vouchers`)).toEqual({ voucher_codes: body });
    },
    '9.13': async () => {
      const info = await read(`/eligibilities/${(await made())['svc_eligiblity_id']}/testLaunchInfo`);
      expect(info.launch_url).toMatch(/^http.+\/launch\/.{40,}$/);
    },
    '14.1': async () => {
      const answer = await create({ test_code: 'NEVER' });
      expect([answer.status, answer.headers.get('content-type')]).toEqual([
        400,
        expect.stringMatching('^application/problem\\+json'),
      ]);
      expect(Object.keys(answer.body as object)).toEqual(expect.arrayContaining(['type', 'title', 'status', 'code']));
    },
    '14.6': async () => {
      const record = await made();
      await app.call('DELETE', examPath(scene, record), { token: scene.token });
      const { status, body } = await app.call('PUT', examPath(scene, record), { token: scene.token, body: record });
      expect([status, body.code]).toEqual([404, 'eligibility_not_found']);
    },
    '15.1': async () => {
      await made({ client_eligibility_id: 'x'.repeat(14) + Date.now().toString().slice(-6) });
      await refused({ client_eligibility_id: 'x'.repeat(21) }, '/client_eligibility_id');
    },
    '15.2': async () => {
      const long = await app.given.test(scene.account, { test_code: 'T'.repeat(50) });
      expect((await create({}, long)).status).toBe(200);
      const { body } = await create({}, 'T'.repeat(51));
      expect(body.errors[0].code).not.toBe('test_unknown');
    },
    '15.3': async () => {
      await refused(candidate({ country: 'USA' }), '/candidate/country');
    },
    '15.4': async () => {
      await refused(candidate({ country: 'US', province_state: 'NYS' }), '/candidate/province_state');
      await refused(candidate({ country: 'US', province_state: 'ZZ' }), '/candidate/province_state');
    },
    '15.5': async () => {
      for (const text of ['2031-01-01T00:00:00', '2031-01-01T00:00:00+00:00', '2031-01-01T00:00:00.5Z'])
        await refused({ eligibility_end_date: text }, '/eligibility_end_date');
    },
  }));
