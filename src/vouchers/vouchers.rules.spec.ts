import { changeOf, refusalOf, type VoucherTerms } from './vouchers.rules.js';

const NOW = new Date('2027-03-01T12:00:00Z');
const MOMENT = 1000;
const voucher = (terms: Partial<VoucherTerms> = {}): VoucherTerms => ({
  voucher_code: 'V',
  test_codes: [],
  valid_from: null,
  valid_until: null,
  max_uses: 1,
  uses: 0,
  disabled: false,
  ...terms,
});
const before = new Date(NOW.getTime() - MOMENT);
const after = new Date(NOW.getTime() + MOMENT);

describe('a voucher', () => {
  it.each<[string, VoucherTerms | undefined, string | null]>([
    ['that does not exist is unknown', undefined, 'voucher_unknown'],
    ['without limits is valid', voucher(), null],
    ['that is disabled is unknown', voucher({ disabled: true }), 'voucher_unknown'],
    ['that is disabled and expired is unknown', voucher({ disabled: true, valid_until: before }), 'voucher_unknown'],
    ['stored without a list of tests is for every test', voucher({ test_codes: null }), null],
    ['for this test among others is valid', voucher({ test_codes: ['OTHER', 'T'] }), null],
    ['for another test is not applicable', voucher({ test_codes: ['OTHER'] }), 'voucher_not_applicable'],
    ['for the test in another case is not applicable', voucher({ test_codes: ['t'] }), 'voucher_not_applicable'],
    ['is valid at its first moment', voucher({ valid_from: NOW }), null],
    ['is not valid before its first moment', voucher({ valid_from: after }), 'voucher_not_yet_valid'],
    ['is valid at its last moment', voucher({ valid_until: NOW }), null],
    ['is expired after its last moment', voucher({ valid_until: before }), 'voucher_expired'],
    ['with one use left is valid', voucher({ max_uses: 3, uses: 2 }), null],
    ['with no use left is exhausted', voucher({ max_uses: 3, uses: 3 }), 'voucher_exhausted'],
    ['whose limit was lowered is exhausted', voucher({ max_uses: 1, uses: 3 }), 'voucher_exhausted'],
    ['that is expired and exhausted is expired', voucher({ valid_until: before, uses: 1 }), 'voucher_expired'],
  ])('a voucher %s', (_title, terms, code) => {
    expect(refusalOf(terms, 'T', NOW)?.code ?? null).toBe(code);
  });
});

describe('the vouchers of a record', () => {
  const stock = (...codes: string[]) => codes.map((voucher_code) => ({ ...voucher({ voucher_code }), held: false }));
  const held = (...codes: string[]) =>
    codes.map((voucher_code) => ({ ...voucher({ voucher_code, uses: 1, valid_until: before }), held: true }));
  const change = (wanted: string[], vouchers: Parameters<typeof changeOf>[1]) => changeOf(wanted, vouchers, 'T', NOW);

  it('an update of a record redeems new vouchers, keeps redeemed vouchers, and releases omitted vouchers', () => {
    expect(change(['A', 'B'], [...stock('A'), ...held('B', 'C')])).toEqual({
      redeem: ['A'],
      release: ['C'],
      refusals: [],
    });
  });

  it('a record keeps a redeemed voucher that has since expired or been used up', () => {
    expect(change(['B'], held('B'))).toEqual({ redeem: [], release: [], refusals: [] });
  });

  it('an empty list of codes releases all vouchers of a record', () => {
    expect(change([], held('A', 'B'))).toEqual({ redeem: [], release: ['A', 'B'], refusals: [] });
  });

  it('a record redeems a voucher once, even if a request repeats the code', () => {
    expect(change(['A', 'A'], stock('A')).redeem).toEqual(['A']);
  });

  it('reports all invalid vouchers of a request together, each once', () => {
    expect(change(['X', 'A', 'Y', 'X'], stock('A')).refusals).toEqual([
      expect.objectContaining({ voucherCode: 'X', code: 'voucher_unknown' }),
      expect.objectContaining({ voucherCode: 'Y', code: 'voucher_unknown' }),
    ]);
  });
});
