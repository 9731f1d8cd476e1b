import { startApp, type TestApp } from '../support/app';
import type { Fault } from '../../src/platform/errors';
import { dateTime } from '../support/given';

let app: TestApp;
let operator: string;

beforeAll(async () => {
  app = await startApp();
  operator = await app.given.operator();
});
afterAll(() => app.close());

const admin = (method: string, path: string, body?: unknown) =>
  app.call(method, `/admin/accounts${path}`, { token: operator, body });
const lastAudit = async () => (await app.call('GET', '/admin/audit?limit=1', { token: operator })).body[0];
const PERCENT = { discount_type: 'PERCENT', discount_value: 25 };

interface Scene {
  account: string;
  testCode: string;
  token: string;
}
const apply = (scene: Scene, record: Record<string, { candidate_id: string }>, codes: string[]) =>
  app.call(
    'PUT',
    `/accounts/${scene.account}/candidates/${record['candidate'].candidate_id}/tests/${scene.testCode}/vouchers`,
    { token: scene.token, body: codes },
  );
const usesOf = async (scene: Scene, code: string) =>
  (await admin('GET', `/${scene.account}/vouchers/${code}`)).body.uses;

describe('a voucher', () => {
  let account: string;
  let testCode: string;

  beforeAll(async () => {
    ({ account, testCode } = await app.given.scene());
  });

  it('creates a voucher by PUT with default values, and writes an audit row', async () => {
    const answer = await admin('PUT', `/${account}/vouchers/V-1`, PERCENT);
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        account_code: account,
        voucher_code: 'V-1',
        ...PERCENT,
        currency: null,
        test_codes: [],
        valid_from: null,
        valid_until: null,
        max_uses: 1,
        uses: 0,
        disabled: false,
      },
    ]);
    expect(await lastAudit()).toMatchObject({ action: 'voucher.put', subject: `${account}/V-1` });
  });

  it('PUT replaces a voucher as a whole, and accepts the body that GET returned', async () => {
    const full = {
      discount_type: 'AMOUNT',
      discount_value: 10.55,
      currency: 'USD',
      test_codes: [testCode],
      valid_from: '2027-01-01T00:00:00Z',
      valid_until: '2027-01-01T00:00:00Z',
      max_uses: 5,
      disabled: true,
    };
    expect((await admin('PUT', `/${account}/vouchers/V-2`, full)).body).toMatchObject(full);
    const { body } = await admin('GET', `/${account}/vouchers/V-2`);
    expect((await admin('PUT', `/${account}/vouchers/V-2`, body)).body).toEqual(body);
    expect((await admin('PUT', `/${account}/vouchers/V-2`, PERCENT)).body).toMatchObject({
      ...PERCENT,
      currency: null,
      test_codes: [],
      valid_from: null,
      valid_until: null,
      max_uses: 1,
      disabled: false,
    });
  });

  it('stores the currency of a voucher in upper case', async () => {
    const answer = await admin('PUT', `/${account}/vouchers/V-3`, { ...PERCENT, currency: 'eur' });
    expect(answer.body.currency).toBe('EUR');
  });

  it('lists vouchers with their number of uses', async () => {
    const scene = await app.given.scene();
    const code = await app.given.voucher(scene.account, { max_uses: 3 });
    await app.given.eligibility(scene, { voucher_codes: [code] });
    expect((await admin('GET', `/${scene.account}/vouchers`)).body).toEqual([
      expect.objectContaining({ voucher_code: code, uses: 1, max_uses: 3 }),
    ]);
  });

  it.each([
    ['of more than 100 percent', { discount_value: 100.01 }, '/discount_value', 'percent_too_high'],
    ['of a negative value', { discount_value: -1 }, '/discount_value', 'out_of_range'],
    ['of a value with three decimals', { discount_value: 1.005 }, '/discount_value', 'too_many_decimals'],
    ['of a value in words', { discount_value: '250' }, '/discount_value', 'type_invalid'],
    ['without a value', { discount_value: undefined }, '/discount_value', 'required'],
    ['of an unknown type', { discount_type: 'percent' }, '/discount_type', 'discount_type_invalid'],
    ['in an unknown currency', { currency: 'ZZZ' }, '/currency', 'currency_invalid'],
    ['of no uses', { max_uses: 0 }, '/max_uses', 'out_of_range'],
    ['of more uses than can be counted', { max_uses: 2_147_483_648 }, '/max_uses', 'out_of_range'],
    [
      'that ends before it starts',
      { valid_from: '2027-01-02T00:00:00Z', valid_until: '2027-01-01T23:59:59Z' },
      '/valid_until',
      'ends_before_start',
    ],
    ['with a date that does not exist', { valid_from: '2027-02-30T00:00:00Z' }, '/valid_from', 'date_time_invalid'],
    ['for a test that does not exist', { test_codes: ['NO_SUCH'] }, '/test_codes/0', 'test_unknown'],
    ['with an unknown member', { code: 'V' }, '/code', 'unknown_field'],
  ])('refuses a voucher %s', async (_title, change, pointer, code) => {
    const answer = await admin('PUT', `/${account}/vouchers/BAD`, { ...PERCENT, ...change });
    expect([answer.status, answer.body.code]).toEqual([400, 'validation_error']);
    expect(answer.body.errors).toEqual([expect.objectContaining({ pointer, code })]);
    expect((await admin('GET', `/${account}/vouchers/BAD`)).status).toBe(404);
  });

  it('refuses a voucher with unknown tests, and reports the position of each', async () => {
    const foreign = await app.given.scene();
    const answer = await admin('PUT', `/${account}/vouchers/BAD`, {
      ...PERCENT,
      test_codes: ['NOPE', testCode, foreign.testCode],
    });
    expect(answer.body.errors.map((fault: Fault) => [fault.pointer, fault.code])).toEqual([
      ['/test_codes/0', 'test_unknown'],
      ['/test_codes/2', 'test_unknown'],
    ]);
  });

  it('reports all faults of a voucher at once: a missing currency, an unknown test and a malformed member', async () => {
    const answer = await admin('PUT', `/${account}/vouchers/BAD`, {
      discount_type: 'AMOUNT',
      discount_value: -1,
      test_codes: ['NOPE', 7],
    });
    expect(answer.body.errors.map((fault: Fault) => [fault.pointer, fault.code]).sort()).toEqual([
      ['/currency', 'required'],
      ['/discount_value', 'out_of_range'],
      ['/test_codes/0', 'test_unknown'],
      ['/test_codes/1', 'type_invalid'],
    ]);
  });

  it('reports all malformed members of a voucher at once', async () => {
    const answer = await admin('PUT', `/${account}/vouchers/BAD`, {
      discount_type: 'PERCENT',
      discount_value: 101,
      currency: 'X',
      valid_from: '2027-01-02T00:00:00Z',
      valid_until: '2027-01-01T00:00:00Z',
      max_uses: -1,
      disabled: 'no',
      extra: 1,
    });
    expect(answer.body.errors.map((fault: Fault) => fault.pointer).sort()).toEqual(
      ['/currency', '/disabled', '/discount_value', '/extra', '/max_uses', '/valid_until'].sort(),
    );
  });

  it('accepts a voucher with an amount over 100', async () => {
    const body = { discount_type: 'AMOUNT', discount_value: 250.5, currency: 'USD' };
    expect((await admin('PUT', `/${account}/vouchers/V-4`, body)).body).toMatchObject(body);
  });

  it.each([
    ['JPY', 500, 500.5],
    ['USD', 1.05, 1.005],
    ['kwd', 1.005, 1.0005],
    ['BHD', 9_999_999_999.999, 0.0001],
    ['CLF', 1.0005, 0.50001],
  ])(
    'accepts as many decimals in an amount as the currency %s has, and no more',
    async (currency, discount_value, finer) => {
      const body = { discount_type: 'AMOUNT', discount_value, currency };
      const path = `/${account}/vouchers/${currency}`;
      expect((await admin('PUT', path, body)).status).toBe(200);
      expect((await admin('GET', path)).body).toMatchObject({ discount_value, currency: currency.toUpperCase() });
      const refused = await admin('PUT', path, { ...body, discount_value: finer });
      expect(refused.body.errors.map((fault: Fault) => fault.pointer)).toContain('/discount_value');
      expect((await admin('GET', path)).body.discount_value).toBe(discount_value);
    },
  );

  it('accepts twenty simultaneous PUTs of one voucher', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        admin('PUT', `/${account}/vouchers/RACE`, { ...PERCENT, max_uses: index + 1, test_codes: [testCode] }),
      ),
    );
    expect(answers.map((answer) => answer.status)).toEqual(Array(20).fill(200));
  });

  it('DELETE removes a voucher that no eligibility uses', async () => {
    const scene = await app.given.scene();
    const code = await app.given.voucher(scene.account);
    const record = await app.given.eligibility(scene, { voucher_codes: [code] });
    const refused = await admin('DELETE', `/${scene.account}/vouchers/${code}`);
    expect([refused.status, refused.body.code]).toEqual([403, 'forbidden_operation']);
    await apply(scene, record, []);
    expect((await admin('DELETE', `/${scene.account}/vouchers/${code}`)).status).toBe(204);
    expect(await lastAudit()).toMatchObject({ action: 'voucher.delete', subject: `${scene.account}/${code}` });
    expect((await admin('GET', `/${scene.account}/vouchers/${code}`)).status).toBe(404);
  });
});

describe('the uses of a voucher', () => {
  it("keeps the number of uses when a voucher's definition is replaced, even with a lower limit", async () => {
    const scene = await app.given.scene();
    const code = await app.given.voucher(scene.account, { max_uses: 2 });
    for (let i = 0; i < 2; i++) await app.given.eligibility(scene, { voucher_codes: [code] });
    const { body } = await admin('PUT', `/${scene.account}/vouchers/${code}`, { ...PERCENT, max_uses: 1, uses: 0 });
    expect([body.uses, body.max_uses]).toEqual([2, 1]);
  });

  it('the number of uses of a voucher is the number of records that have it', async () => {
    const scene = await app.given.scene();
    const [a, b] = [await app.given.voucher(scene.account), await app.given.voucher(scene.account)];
    const record = await app.given.eligibility(scene, { voucher_codes: [a] });
    const uses = async () => [await usesOf(scene, a), await usesOf(scene, b)];
    expect(await uses()).toEqual([1, 0]);
    expect((await apply(scene, record, [b, b])).status).toBe(204);
    expect(await uses()).toEqual([0, 1]);
    expect((await apply(scene, record, [a, b])).status).toBe(204);
    expect(await uses()).toEqual([1, 1]);
    const path = `/accounts/${scene.account}/candidates/${record['candidate'].candidate_id}/tests/${scene.testCode}`;
    expect((await app.call('DELETE', path, { token: scene.token })).status).toBe(204);
    expect(await uses()).toEqual([0, 0]);
  });

  it('the uses of a voucher never exceed its limit, however many requests arrive at once', async () => {
    const scene = await app.given.scene();
    const codes = await Promise.all([1, 2, 3].map(() => app.given.voucher(scene.account, { max_uses: 5 })));
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        app.call('POST', `/accounts/${scene.account}/candidates`, {
          token: scene.token,
          // The requests arrive at the same time and name the same vouchers in different orders. This must not cause a
          // deadlock.
          body: app.given.eligibilityBody(scene.testCode, {
            voucher_codes: [codes[index % 3], codes[(index + 1) % 3], codes[(index + 2) % 3]],
          }),
        }),
      ),
    );
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(5);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      expect(answer.status).toBe(400);
      expect(answer.body.errors.map((fault: Fault) => [fault.pointer, fault.code])).toEqual(
        [0, 1, 2].map((index) => [`/voucher_codes/${index}`, 'voucher_exhausted']),
      );
    }
    for (const code of codes) expect(await usesOf(scene, code)).toBe(5);
  });

  it('the number of uses of each voucher equals the number of its redemptions after simultaneous swaps and cancellations', async () => {
    const scene = await app.given.scene();
    const codes = await Promise.all([1, 2, 3, 4].map(() => app.given.voucher(scene.account, { max_uses: 4 })));
    const records = await Promise.all(Array.from({ length: 6 }, () => app.given.eligibility(scene)));
    const answers = await Promise.all(
      records.flatMap((record, at) => [
        ...codes.map((code, index) => apply(scene, record, [code, codes[(index + at) % 4]])),
        apply(scene, record, [...codes].reverse()),
        app.call(
          'DELETE',
          `/accounts/${scene.account}/candidates/${record['candidate'].candidate_id}/tests/${scene.testCode}`,
          { token: scene.token },
        ),
      ]),
    );
    for (const { status } of answers) expect([204, 400, 404]).toContain(status);
    const counted = await app.given.sql(
      `SELECT voucher_code FROM vouchers WHERE account_code = $1 AND (uses > max_uses OR uses <>
         (SELECT count(*) FROM voucher_redemptions r WHERE r.account_code = $1 AND r.voucher_code = vouchers.voucher_code))`,
      [scene.account],
    );
    expect(counted).toEqual([]);
  });
});

describe('the vouchers of a record', () => {
  const past = new Date(Date.now() - 60_000);
  const future = new Date(Date.now() + 3_600_000);

  it.each([
    ['unknown', {}, 'voucher_unknown'],
    ['disabled', { disabled: true }, 'voucher_unknown'],
    ['expired', { valid_until: past }, 'voucher_expired'],
    ['not yet valid', { valid_from: future }, 'voucher_not_yet_valid'],
    ['for another test', { test_codes: ['OTHER'] }, 'voucher_not_applicable'],
  ])('refuses all voucher codes of a request when one voucher is %s', async (title, setup, code) => {
    const scene = await app.given.scene();
    const good = await app.given.voucher(scene.account);
    const bad = title === 'unknown' ? 'NOPE' : await app.given.voucher(scene.account, setup);
    const record = await app.given.eligibility(scene);
    const answer = await apply(scene, record, [good, bad]);
    expect([answer.status, answer.body.code]).toEqual([400, 'validation_error']);
    expect(answer.body.errors).toEqual([expect.objectContaining({ pointer: '/1', code })]);
    expect(await usesOf(scene, good)).toBe(0);
  });

  it('a record keeps vouchers that expire, are used up or are disabled after the record has redeemed them', async () => {
    const scene = await app.given.scene();
    const [held, added] = [await app.given.voucher(scene.account), await app.given.voucher(scene.account)];
    const record = await app.given.eligibility(scene, { voucher_codes: [held] });
    await admin('PUT', `/${scene.account}/vouchers/${held}`, {
      ...PERCENT,
      valid_until: dateTime(past.getTime()),
      disabled: true,
    });
    expect((await apply(scene, record, [added, held])).status).toBe(204);
    expect(await usesOf(scene, held)).toBe(1);
    expect((await apply(scene, record, [added])).status).toBe(204);
    expect((await apply(scene, record, [added, held])).status).toBe(400);
  });
});
