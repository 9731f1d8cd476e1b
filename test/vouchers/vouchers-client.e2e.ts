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

type Record_ = Record<string, any>;

const put = (record: Record_, body: unknown) =>
  app.call(
    'PUT',
    `/accounts/${scene.account}/candidates/${record['candidate'].candidate_id}/tests/${record['test_code']}/vouchers`,
    { token: scene.token, body },
  );
const held = async (record: Record_) =>
  (
    await app.given.sql('SELECT voucher_code FROM voucher_redemptions WHERE svc_eligiblity_id = $1 ORDER BY 1', [
      record['svc_eligiblity_id'],
    ])
  ).map((row) => row['voucher_code'] as string);
const uses = async (code: string) =>
  (
    await app.given.sql('SELECT uses FROM vouchers WHERE account_code = $1 AND voucher_code = $2', [
      scene.account,
      code,
    ])
  )[0]['uses'];

describe('§5 Vouchers', () => {
  it('PUT of a JSON array or {"voucher_codes": […]} replaces the vouchers of a record and returns 204; an empty array removes them', async () => {
    const [a, b, c] = [
      await app.given.voucher(scene.account),
      await app.given.voucher(scene.account),
      await app.given.voucher(scene.account),
    ];
    const record = await app.given.eligibility(scene, { voucher_codes: [a] });
    const answer = await put(record, [b, c, b]);
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect(await held(record)).toEqual([b, c].sort());
    expect([await uses(a), await uses(b), await uses(c)]).toEqual([0, 1, 1]);
    expect((await put(record, { voucher_codes: [a, b] })).status).toBe(204);
    expect(await held(record)).toEqual([a, b].sort());
    expect((await put(record, { voucher_codes: [] })).status).toBe(204);
    expect(await held(record)).toEqual([]);
    await put(record, [a]);
    expect((await put(record, [])).status).toBe(204);
    expect([await uses(a), await uses(b), await uses(c)]).toEqual([0, 0, 0]);
  });

  it('PUT of vouchers applies all codes or none: it reports every invalid code by its index, and the record keeps its vouchers', async () => {
    const kept = await app.given.voucher(scene.account);
    const good = await app.given.voucher(scene.account, { code: app.given.unique('Case') });
    const other = await app.given.account();
    const codes = {
      unknown: 'NEVER-HEARD-OF',
      foreign: await app.given.voucher(other),
      disabled: await app.given.voucher(scene.account, { disabled: true }),
      otherCase: good.toUpperCase(),
      expired: await app.given.voucher(scene.account, { valid_until: new Date(Date.now() - 1000) }),
      early: await app.given.voucher(scene.account, { valid_from: new Date(Date.now() + 60_000) }),
      exhausted: await app.given.voucher(scene.account),
      otherTest: await app.given.voucher(scene.account, { test_codes: ['ANOTHER'] }),
    };
    await app.given.eligibility(scene, { voucher_codes: [codes.exhausted] });
    const record = await app.given.eligibility(scene, { voucher_codes: [kept] });
    const expected = [
      'unknown',
      'unknown',
      'unknown',
      'unknown',
      'expired',
      'not_yet_valid',
      'exhausted',
      'not_applicable',
    ];
    const bare = await put(record, [good, ...Object.values(codes)]);
    expect([bare.status, bare.body.code]).toEqual([400, 'validation_error']);
    expect(faultsOf(bare)).toEqual(expected.map((reason, at) => `/${at + 1} voucher_${reason}`));
    const wrapped = await put(record, { voucher_codes: [good, ...Object.values(codes)] });
    expect(faultsOf(wrapped)).toEqual(expected.map((reason, at) => `/voucher_codes/${at + 1} voucher_${reason}`));
    expect([await held(record), await uses(good), await uses(kept)]).toEqual([[kept], 0, 1]);
    const create = await app.call('POST', `/accounts/${scene.account}/candidates`, {
      token: scene.token,
      body: app.given.eligibilityBody(scene.testCode, { voucher_codes: [good, ...Object.values(codes)] }),
    });
    expect(faultsOf(create)).toEqual(faultsOf(wrapped));
  });

  it('a PUT of vouchers can keep a voucher that the record already has, even if the voucher has expired or is used up', async () => {
    const code = await app.given.voucher(scene.account);
    const more = await app.given.voucher(scene.account);
    const record = await app.given.eligibility(scene, { voucher_codes: [code] });
    await app.given.sql('UPDATE vouchers SET valid_until = $2 WHERE voucher_code = $1', [code, new Date(0)]);
    expect((await put(record, [code, more])).status).toBe(204);
    expect(await held(record)).toEqual([code, more].sort());
    expect(await uses(code)).toBe(1);
  });

  it('max_uses limits the number of records that have a voucher, and removing the voucher from a record frees a use', async () => {
    const code = await app.given.voucher(scene.account, { max_uses: 2, test_codes: ['X', scene.testCode] });
    const records: Record_[] = [];
    for (let at = 0; at < 3; at++) records.push(await app.given.eligibility(scene));
    expect((await put(records[0], [code])).status).toBe(204);
    expect((await put(records[1], [code])).status).toBe(204);
    expect(faultsOf(await put(records[2], [code]))).toEqual(['/0 voucher_exhausted']);
    await put(records[0], []);
    expect((await put(records[2], [code])).status).toBe(204);
    expect(await uses(code)).toBe(2);
  });

  it.each<[unknown, string[]]>([
    [null, [' type_invalid']],
    [{}, ['/voucher_codes required']],
    [{ voucher_codes: null }, ['/voucher_codes required']],
    [{ voucher_codes: 'A,B' }, ['/voucher_codes type_invalid']],
    [{ voucher_codes: [], vouchers: [] }, ['/vouchers unknown_field']],
    ['"A,B"', [' type_invalid']],
    [
      ['A', 5, null, '', 'x'.repeat(51)],
      ['/1 type_invalid', '/2 type_invalid', '/3 blank', '/4 too_long', '/0 voucher_unknown'],
    ],
    [[['A']], ['/0 type_invalid']],
    [Array.from({ length: 21 }, (_, at) => `V${at}`), [' too_many']],
  ])('PUT of vouchers with the body %j is answered with 400', async (body, faults) => {
    const record = await app.given.eligibility(scene);
    const answer = await put(record, body);
    expect([answer.status, faultsOf(answer)]).toEqual([400, faults]);
  });

  it('PUT of vouchers reports unredeemable codes and values that are not codes in the same response', async () => {
    const kept = await app.given.voucher(scene.account);
    const good = await app.given.voucher(scene.account);
    const expired = await app.given.voucher(scene.account, { valid_until: new Date('2020-01-01') });
    const record = await app.given.eligibility(scene, { voucher_codes: [kept] });
    const codes = [expired, 'NOPE', 5, good, '', kept];
    const places = ['0 voucher_expired', '1 voucher_unknown', '2 type_invalid', '4 blank'];
    expect(faultsOf(await put(record, codes)).sort()).toEqual(places.map((place) => `/${place}`));
    const body = { voucher_codes: codes, vouchers: [] };
    expect(faultsOf(await put(record, body)).sort()).toEqual([
      ...places.map((place) => `/voucher_codes/${place}`),
      '/vouchers unknown_field',
    ]);
    expect([await held(record), await uses(good), await uses(kept)]).toEqual([[kept], 0, 1]);
    const nobody = { test_code: scene.testCode, candidate: { candidate_id: 'nobody' } };
    expect(faultsOf(await put(nobody, codes)).sort()).toEqual(
      [...places, '5 voucher_exhausted'].map((place) => `/${place}`),
    );
    expect((await put(record, '"x"')).body.errors).toEqual([
      {
        pointer: '',
        code: 'type_invalid',
        detail: 'The body must be a list of codes, or an object with voucher_codes.',
      },
    ]);
  });

  it.each([(codes: string[]) => codes, (voucher_codes: string[]) => ({ voucher_codes })])(
    'PUT of vouchers counts repeated codes once: %s',
    async (body) => {
      const good = await app.given.voucher(scene.account);
      const record = await app.given.eligibility(scene);
      expect((await put(record, body(Array<string>(21).fill(good)))).status).toBe(204);
      expect([await held(record), await uses(good)]).toEqual([[good], 1]);
      const distinct = Array.from({ length: 21 }, (_, at) => `V${at}`);
      expect((await put(record, body([...distinct, ...distinct]))).body.errors).toMatchObject([{ code: 'too_many' }]);
    },
  );

  it('PUT of vouchers returns 404 for an unknown record, and 403 eligibility_booked for a SCHEDULED record', async () => {
    const nobody = { test_code: scene.testCode, candidate: { candidate_id: 'nobody' } };
    expect((await put(nobody, [])).body).toMatchObject({ status: 404, code: 'eligibility_not_found' });
    const record = await app.given.eligibility(scene);
    await app.given.booking(scene, record);
    expect((await put(record, ['NONE'])).body).toMatchObject({ status: 403, code: 'eligibility_booked' });
  });

  it('GET and PUT of vouchers use the same record: if a newer record was cancelled, both use the older, expired record', async () => {
    const [first, second, third] = [
      await app.given.voucher(scene.account),
      await app.given.voucher(scene.account),
      await app.given.voucher(scene.account),
    ];
    const body = app.given.eligibilityBody(scene.testCode, { voucher_codes: [first] });
    const expired = await app.given.eligibility(scene, body);
    const set = (assignment: string, record: Record_) =>
      app.given.sql(`UPDATE eligibilities SET ${assignment} WHERE svc_eligiblity_id = $1`, [
        record['svc_eligiblity_id'],
      ]);
    await set(`status = 'CANCELLED'`, expired);
    const newer = await app.given.eligibility(scene, { ...body, voucher_codes: [second] });
    await set(`status = 'CANCELLED'`, newer);
    // The window of the eligibility record is over, but the status EXPIRED is not stored yet.
    await set(`status = 'ELIGIBLE', eligibility_end_date = now() - interval '1 second'`, expired);
    const shown = async () =>
      (
        await app.call(
          'GET',
          `/accounts/${scene.account}/candidates/${body['candidate'].candidate_id}/tests/${scene.testCode}/vouchers`,
          { token: scene.token },
        )
      ).body.voucher_codes;
    expect(await shown()).toEqual([first]);
    expect((await put(newer, [third])).status).toBe(204);
    expect(await shown()).toEqual([third]);
    expect([await held(expired), await held(newer)]).toEqual([[third], [second]]);
  });

  it('an expired record keeps its vouchers until it is cancelled', async () => {
    const code = await app.given.voucher(scene.account);
    const record = await app.given.eligibility(scene, { voucher_codes: [code] });
    const path = `/accounts/${scene.account}/candidates/${record['candidate'].candidate_id}/tests/${scene.testCode}`;
    await app.call('PUT', path, {
      token: scene.token,
      body: { ...record, eligibility_end_date: dateTime(Date.now() - 5000) },
    });
    expect(await uses(code)).toBe(1);
    expect((await app.call('DELETE', path, { token: scene.token })).status).toBe(204);
    expect(await uses(code)).toBe(0);
  });
});
