import { faultsOf } from '../support/answers';
import { startApp, type TestApp } from '../support/app';

let app: TestApp;
let scene: Awaited<ReturnType<TestApp['given']['scene']>>;

beforeAll(async () => {
  app = await startApp();
  scene = await app.given.scene();
});
afterAll(() => app.close());

const create = (body: unknown) =>
  app.call('POST', `/accounts/${scene.account}/candidates`, { token: scene.token, body });

/** Returns a valid body in which the member at the dotted path has the given value; `undefined` removes the member. */
function bodyWith(path: string, value: unknown): Record<string, any> {
  const body = app.given.eligibilityBody(scene.testCode);
  const names = path.split('.');
  const last = names.pop()!;
  const target = names.reduce((object, name) => object[name] as Record<string, any>, body);
  if (value === undefined) delete target[last];
  else target[last] = value;
  return body;
}

const CANDIDATE_TEXTS: [string, number][] = [
  ['first_name', 100],
  ['middle_name', 100],
  ['last_name', 100],
  ['address1', 200],
  ['address2', 200],
  ['city', 100],
  ['home_phone', 40],
  ['office_phone', 40],
  ['postal_code', 20],
  ['suffix', 20],
];

describe('§5 field rules: lengths in code points', () => {
  it.each(CANDIDATE_TEXTS)('candidate.%s accepts %i characters, but no more', async (name, max) => {
    const longest = '𝒳'.repeat(max);
    const accepted = await create(bodyWith(`candidate.${name}`, longest));
    expect([accepted.status, accepted.body.candidate[name]]).toEqual([200, longest]);
    const refused = await create(bodyWith(`candidate.${name}`, longest + 'x'));
    expect([refused.status, refused.body.code, faultsOf(refused)]).toEqual([
      400,
      'validation_error',
      [`/candidate/${name} too_long`],
    ]);
  });

  it('outside the United States, province_state accepts 100 characters', async () => {
    const abroad = (province: string) => {
      const body = bodyWith('candidate.country', 'DE');
      body['candidate'].province_state = province;
      return create(body);
    };
    expect((await abroad('B'.repeat(100))).status).toBe(200);
    expect(faultsOf(await abroad('B'.repeat(101)))).toEqual(['/candidate/province_state too_long']);
  });
});

type Case = [path: string, value: unknown, fault: string];

const pointerTo = (path: string) => '/' + path.replaceAll('.', '/');

describe('§5 field rules: refused with 400, the member’s own code and its pointer', () => {
  const cases: Case[] = [
    ['test_code', undefined, 'required'],
    ['test_code', null, 'required'],
    ['test_code', '', 'blank'],
    ['test_code', 'A'.repeat(51), 'too_long'],
    ['test_code', 'NURSE_RN', 'test_code_invalid'],
    ['test_code', 'TÉST', 'test_code_invalid'],
    ['test_code', '１２３', 'test_code_invalid'],
    ['test_code', 'A\u200fB', 'test_code_invalid'],
    ['test_code', 7, 'type_invalid'],
    ['test_code', 'NO-SUCH-TEST', 'test_unknown'],
    ['candidate', undefined, 'required'],
    ['candidate', 'Ada', 'type_invalid'],
    ['candidate', [], 'type_invalid'],
    ['candidate.candidate_id', undefined, 'required'],
    ['candidate.candidate_id', '', 'blank'],
    ['candidate.candidate_id', 'x'.repeat(51), 'too_long'],
    ['candidate.candidate_id', 'a/b', 'candidate_id_invalid'],
    ['candidate.candidate_id', 'a\\b', 'candidate_id_invalid'],
    // In a URL, "." and ".." mean the current and the parent folder. No path could therefore identify a candidate whose
    // id is "." or "..".
    ['candidate.candidate_id', '..', 'candidate_id_invalid'],
    ['candidate.candidate_id', '.', 'candidate_id_invalid'],
    ['candidate.candidate_id', ' a', 'candidate_id_invalid'],
    ['candidate.candidate_id', 'a\u00a0', 'candidate_id_invalid'],
    ['candidate.candidate_id', 'a\u200fb', 'candidate_id_invalid'],
    ['candidate.candidate_id', 'a\u0007b', 'control_character'],
    ['candidate.first_name', undefined, 'required'],
    ['candidate.first_name', null, 'required'],
    ['candidate.first_name', '', 'blank'],
    ['candidate.first_name', ' \u2003', 'blank'],
    ['candidate.last_name', undefined, 'required'],
    ['candidate.middle_name', ' ', 'blank'],
    ['candidate.email', 'ada.example.org', 'email_invalid'],
    ['candidate.email', '', 'email_invalid'],
    ['candidate.email', `${'a'.repeat(245)}@example.org`, 'too_long'],
    ['candidate.country', 'XX', 'country_invalid'],
    ['candidate.country', 'USA', 'country_invalid'],
    ['candidate.country', 'ＵＳ', 'country_invalid'],
    ['candidate.province_state', 'New York', 'province_state_invalid'],
    ['candidate.province_state', 'ZZ', 'province_state_invalid'],
    ['candidate.school_code', '', 'blank'],
    ['candidate.school_code', 'NOWHERE', 'school_code_unknown'],
    ['candidate.special_accommodations', 'EXTRA', 'type_invalid'],
    ['candidate.special_accommodations', Array.from({ length: 21 }, (_, at) => `A${at}`), 'too_many'],
    ['candidate.additional_attributes', {}, 'type_invalid'],
    ['candidate.additional_attributes', Array.from({ length: 51 }, () => ({ key: 'k', value: 'v' })), 'too_many'],
    ['client_eligibility_id', '', 'blank'],
    ['client_eligibility_id', 'x'.repeat(21), 'too_long'],
    ['client_eligibility_id', 'a b', 'client_eligibility_id_invalid'],
    ['client_eligibility_id', '٣', 'client_eligibility_id_invalid'],
    ['registration_mode', 'Telegraph', 'registration_mode_invalid'],
    ['registration_mode', '', 'registration_mode_invalid'],
    ['registration_mode', 'Wal\u212ain', 'registration_mode_invalid'],
    ['portion_codes', 'MAIN', 'type_invalid'],
    ['voucher_codes', 'V1,V2', 'type_invalid'],
    ['voucher_codes', Array.from({ length: 21 }, (_, at) => `V${at}`), 'too_many'],
    ...['2027-02-30T00:00:00Z', '2027-01-01T24:00:00Z', '2027-01-01T00:00:00+00:00', '2027-01-01T00:00:00.000Z']
      .concat(['2027-01-01t00:00:00z', '2027-01-01', '2027-01-01T00:00:60Z', '', '２０２７-01-01T00:00:00Z'])
      .flatMap((text): Case[] => [
        ['eligibility_end_date', text, 'date_time_invalid'],
        ['schedule_start_date', text, 'date_time_invalid'],
      ]),
    ['eligibility_end_date', 1_900_000_000, 'type_invalid'],
    ['eligibility_end_date', '2020-01-01T00:00:00Z', 'end_date_past'],
    ['schedule_start_date', '2999-01-01T00:00:00Z', 'end_date_before_start'],
  ];
  it('a date without a time is refused with a hint about the required form', async () => {
    const { body } = await create({
      ...bodyWith('eligibility_end_date', '2030-05-14'),
      schedule_start_date: '2030-05-14',
    });
    const details = new Map(body.errors.map(({ pointer, detail }: any) => [pointer, detail]));
    expect(details.get('/schedule_start_date')).toContain('write 2030-05-14T00:00:00Z.');
    expect(details.get('/eligibility_end_date')).toContain('write 2030-05-14T23:59:59Z.');
    const of = async (text: string) =>
      (await create(bodyWith('eligibility_end_date', text))).body.errors[0].detail as string;
    expect(await of('2030-02-30')).not.toContain('write');
  });

  it.each(cases)('an eligibility with %s = %j is refused with %s', async (path, value, code) => {
    const pointer = code === 'end_date_before_start' ? '/eligibility_end_date' : pointerTo(path);
    const answer = await create(bodyWith(path, value));
    expect([answer.status, answer.body.code, faultsOf(answer)]).toEqual([
      400,
      'validation_error',
      [`${pointer} ${code}`],
    ]);
  });

  it.each([
    [
      'portion_codes',
      ['MAIN', 'OTHER', null, 5, ''],
      ['1 portion_unknown', '2 type_invalid', '3 type_invalid', '4 blank'],
    ],
    ['voucher_codes', ['x'.repeat(51), null], ['0 too_long', '1 type_invalid']],
    ['candidate.special_accommodations', ['NONE', 5], ['0 accommodation_unknown', '1 type_invalid']],
  ])('§5 each faulty entry in %s is reported as a separate fault', async (path, value, faults) => {
    const answer = await create(bodyWith(path, value));
    expect(faultsOf(answer).sort()).toEqual(faults.map((fault) => `${pointerTo(path)}/${fault}`).sort());
  });

  it('§5 a create request counts repeated codes of accommodations, portions and vouchers once', async () => {
    const codes = {
      'candidate.special_accommodations': await app.given.accommodation(scene.account, false),
      portion_codes: 'MAIN',
      voucher_codes: await app.given.voucher(scene.account),
    };
    for (const [path, code] of Object.entries(codes)) {
      const { status, body } = await create(bodyWith(path, Array(21).fill(code)));
      expect([path, status]).toEqual([path, 200]);
      if (path !== 'voucher_codes') expect(path.split('.').reduce((at, name) => at[name], body)).toEqual([code]);
      const many = [...Array.from({ length: 21 }, (_, at) => `M${at}`), 'M0'];
      expect(faultsOf(await create(bodyWith(path, many)))).toEqual([`${pointerTo(path)} too_many`]);
    }
  });

  it('§5 additional attributes must have known keys, no repeated key, and values of at most 1000 characters', async () => {
    const key = await app.given.attributeKey(scene.account);
    const at = '/candidate/additional_attributes';
    const answer = await create(
      bodyWith('candidate.additional_attributes', [
        { key, value: '' },
        { key, value: 'x'.repeat(1001) },
        { key: 'unheard-of', value: 'v' },
        { key },
        { key: '', value: 'v' },
        'key=value',
        { key, value: 'again', note: 'x' },
      ]),
    );
    expect(answer.body.code).toBe('validation_error');
    expect(faultsOf(answer)).toEqual(
      expect.arrayContaining([
        `${at}/1/value too_long`,
        `${at}/2/key attribute_key_unknown`,
        `${at}/3/value required`,
        `${at}/4/key blank`,
        `${at}/5 type_invalid`,
        `${at}/6/note unknown_field`,
      ]),
    );
    const twice = await create(
      bodyWith('candidate.additional_attributes', [
        { key, value: 'a' },
        { key, value: 'b' },
      ]),
    );
    expect(faultsOf(twice)).toEqual([`${at}/1/key attribute_key_repeated`]);
  });

  it('§2 a fault in an attribute’s value does not hide a fault in its key', async () => {
    const key = await app.given.attributeKey(scene.account);
    const at = '/candidate/additional_attributes';
    const answer = await create(
      bodyWith('candidate.additional_attributes', [
        { key: 'NOPE', value: 7 },
        { key, value: 'a', note: 'x' },
        { key, value: null },
        { key: 7, value: 7 },
      ]),
    );
    expect(faultsOf(answer).sort()).toEqual([
      `${at}/0/key attribute_key_unknown`,
      `${at}/0/value type_invalid`,
      `${at}/1/note unknown_field`,
      `${at}/2/key attribute_key_repeated`,
      `${at}/2/value required`,
      `${at}/3/key type_invalid`,
      `${at}/3/value type_invalid`,
    ]);
  });
});

describe('§5 field rules: accepted', () => {
  const accepted: [string, unknown, unknown][] = [
    ['candidate.country', 'us', 'US'],
    ['candidate.candidate_id', 'Zoë 42+x@y.z~%', 'Zoë 42+x@y.z~%'],
    ['candidate.email', 'o’neil@example.org', 'o’neil@example.org'],
    ['candidate.address1', '', ''],
    ['candidate.first_name', ' Ada ', ' Ada '],
    ['candidate.middle_name', null, null],
    ['client_eligibility_id', 'A.b_c-9'.padEnd(20, 'x'), 'A.b_c-9'.padEnd(20, 'x')],
    ['eligibility_end_date', '2999-12-31T23:59:59Z', '2999-12-31T23:59:59Z'],
    ['eligibility_end_date', null, null],
    ['schedule_start_date', '2024-02-29T00:00:00Z', '2024-02-29T00:00:00Z'],
    ['portion_codes', ['MAIN', 'MAIN'], ['MAIN']],
    ['portion_codes', null, ['MAIN']],
    ['portion_codes', [], ['MAIN']],
  ];
  it.each(accepted)(
    'an eligibility with %s = %j is accepted and stored with the value %j',
    async (path, value, kept) => {
      const answer = await create(bodyWith(path, value));
      expect(answer.status).toBe(200);
      const [name, member] = path.split('.') as [string, string?];
      expect(member ? answer.body[name][member] : answer.body[name]).toEqual(kept);
    },
  );

  it.each(
    'Online Phone Walkin Import Mail Email Fax IVR ExpressMail VoiceResponse Application oNLINE expressmail'.split(' '),
  )('registration_mode %s is accepted', async (mode) => {
    expect((await create(bodyWith('registration_mode', mode))).status).toBe(200);
  });

  it.each('NY DC PR GU VI AS MP AA AE AP'.split(' '))(
    'province_state %s is accepted in the United States',
    async (province) => {
      expect((await create(bodyWith('candidate.province_state', province))).status).toBe(200);
    },
  );

  it('province_state and country are optional and independent of each other outside the United States', async () => {
    for (const [country, province] of [
      ['DE', 'Bayern'],
      [null, 'Anywhere'],
      ['US', null],
    ]) {
      const body = app.given.eligibilityBody(scene.testCode, { candidate: { country, province_state: province } });
      expect((await create(body)).status).toBe(200);
    }
  });
});
