import type { VoucherRefusal } from './vouchers.commands.js';
import { declareFaults } from '../platform/errors.js';

declareFaults({
  voucher_unknown: [
    'The account has no voucher with this code, or the voucher is disabled.',
    'Check the spelling of the code, including upper and lower case, or ask the operator of the service.',
  ],
  voucher_not_applicable: ['The voucher is not valid for this test.', 'Use a voucher that is valid for the test.'],
  voucher_not_yet_valid: [
    'The voucher is not valid yet.',
    'Send the request again on or after the first day on which the voucher is valid.',
  ],
  voucher_expired: ['The voucher has expired.', 'Use another voucher.'],
  voucher_exhausted: [
    'The voucher has already been used the maximum number of times.',
    'Use another voucher, or remove this voucher from another eligibility that uses it.',
  ],
});

/** The members of a voucher that decide whether it can be redeemed. */
export interface VoucherTerms {
  voucher_code: string;
  test_codes: string[] | null;
  valid_from: Date | null;
  valid_until: Date | null;
  max_uses: number;
  uses: number;
  disabled: boolean;
}

type Refusal = Omit<VoucherRefusal, 'voucherCode'>;

const UNKNOWN: Refusal = { code: 'voucher_unknown', detail: 'The account has no voucher with this code.' };
const NOT_APPLICABLE: Refusal = { code: 'voucher_not_applicable', detail: 'The voucher is not valid for this test.' };
const NOT_YET_VALID: Refusal = { code: 'voucher_not_yet_valid', detail: 'The voucher is not valid yet.' };
const EXPIRED: Refusal = { code: 'voucher_expired', detail: 'The voucher has expired.' };
const EXHAUSTED: Refusal = {
  code: 'voucher_exhausted',
  detail: 'The voucher has already been used the maximum number of times.',
};

/**
 * Returns the reason why the voucher cannot be redeemed for the test now; null if the voucher can be redeemed. A
 * disabled voucher is treated as unknown.
 */
export function refusalOf(voucher: VoucherTerms | undefined, testCode: string, now: Date): Refusal | null {
  if (!voucher || voucher.disabled) return UNKNOWN;
  if (voucher.test_codes?.length && !voucher.test_codes.includes(testCode)) return NOT_APPLICABLE;
  if (voucher.valid_from !== null && now < voucher.valid_from) return NOT_YET_VALID;
  if (voucher.valid_until !== null && now > voucher.valid_until) return EXPIRED;
  if (voucher.uses >= voucher.max_uses) return EXHAUSTED;
  return null;
}

const USUAL_DECIMALS = 2;
/** The number of decimals of each ISO 4217 currency that does not have the usual two decimals. */
const DECIMALS = new Map([
  ...'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'.split(' ').map((code) => [code, 0] as const),
  ...'BHD IQD JOD KWD LYD OMR TND'.split(' ').map((code) => [code, 3] as const),
  ...'CLF UYW'.split(' ').map((code) => [code, 4] as const),
]);
/**
 * Matches the codes of ISO 4217 that do not denote money: codes for tests, metals, units of account and "no currency".
 */
const NO_MONEY = /^X(?!AF|CD|CG|OF|PF)/;

/**
 * Returns whether the ISO 4217 code, in upper or lower case, denotes money. A discount must use a code that denotes
 * money.
 */
export function isMoney(currency: string): boolean {
  return !NO_MONEY.test(currency.toUpperCase());
}

/**
 * Returns whether the discount has no more decimals than its currency allows. The currency's code may be in upper or
 * lower case. The code is null for a percentage, which may have two decimals.
 */
export function hasDecimalsOf(discount: number, currency: string | null): boolean {
  const decimals = DECIMALS.get(currency?.toUpperCase() ?? '') ?? USUAL_DECIMALS;
  return Number(discount.toFixed(decimals)) === discount;
}

export interface VoucherChange {
  redeem: string[];
  release: string[];
  refusals: VoucherRefusal[];
}

/**
 * Returns the vouchers to redeem and to release, so that the eligibility then has exactly the requested vouchers.
 * @param vouchers all existing vouchers that the eligibility has now or will have
 */
export function changeOf(
  wanted: readonly string[],
  vouchers: readonly (VoucherTerms & { held: boolean })[],
  testCode: string,
  now: Date,
): VoucherChange {
  const known = new Map(vouchers.map((voucher) => [voucher.voucher_code, voucher]));
  const redeem: string[] = [];
  const refusals: VoucherRefusal[] = [];
  for (const code of new Set(wanted)) {
    const voucher = known.get(code);
    if (voucher?.held) continue;
    const refusal = refusalOf(voucher, testCode, now);
    if (refusal) refusals.push({ voucherCode: code, ...refusal });
    else redeem.push(code);
  }
  const release = vouchers.filter(({ held, voucher_code }) => held && !wanted.includes(voucher_code));
  return { redeem, release: release.map((voucher) => voucher.voucher_code), refusals };
}
