import { isISO4217CurrencyCode } from 'class-validator';
import { parseDateTime } from '../platform/clock.js';
import { Field, ReadOnlyMembers } from '../platform/validation/fields.js';
import {
  boolean,
  catalogueCode,
  code,
  dateTime,
  decimal,
  integer,
  listOf,
  oneOf,
  text,
} from '../platform/validation/rules.js';
import { AccountPath, accountCodeRule } from '../platform/validation/identifiers.js';
import { DISCOUNT_TYPES, type DiscountType } from './voucher.entity.js';
import { declareFaults } from '../platform/errors.js';
import { hasDecimalsOf, isMoney } from './vouchers.rules.js';

declareFaults({
  percent_too_high: ['The discount is higher than 100 percent.', 'Send at most 100 when the discount type is PERCENT.'],
  ends_before_start: [
    'The voucher would expire before it becomes valid.',
    'Send a valid_until that is not earlier than valid_from.',
  ],
  discount_type_invalid: ['The value is not a known type of discount.', 'Use PERCENT or AMOUNT.'],
  currency_invalid: ['The value is not a currency code.', 'Use a three-letter ISO 4217 code.'],
  too_many_decimals: [
    'The discount is an amount with more decimal places than its currency allows, or a percentage with more than two decimal places.',
    'Round an amount to the decimal places of its currency, and a percentage to two decimal places.',
  ],
});

const MOST_DISCOUNT = 9_999_999_999.9999;
// The maximum of `max_uses`: the largest value of the column's type int.
const MOST_USES = 2_147_483_647;
const MOST_TESTS = 200;

type Given = { [Member in keyof VoucherBody]: unknown };

const isPossible = {
  code: 'percent_too_high',
  detail: 'Must be at most 100 for PERCENT.',
  holds: ({ discount_type, discount_value }: Given): boolean =>
    discount_type !== 'PERCENT' || typeof discount_value !== 'number' || discount_value <= 100,
};

const hasItsDecimals = {
  code: 'too_many_decimals',
  detail: 'Must not have more decimal places than the currency allows. A percentage may have two.',
  holds({ discount_type, discount_value, currency }: Given): boolean {
    if (typeof discount_value !== 'number') return true;
    if (discount_type === 'PERCENT') return hasDecimalsOf(discount_value, null);
    return typeof currency !== 'string' || hasDecimalsOf(discount_value, currency);
  },
};

const isOrdered = {
  code: 'ends_before_start',
  detail: 'Must not lie before valid_from.',
  holds({ valid_from, valid_until }: Given): boolean {
    const from = typeof valid_from === 'string' ? parseDateTime(valid_from) : null;
    const until = typeof valid_until === 'string' ? parseDateTime(valid_until) : null;
    return from === null || until === null || from <= until;
  },
};

export class VoucherPath extends AccountPath {
  @Field(catalogueCode(), { required: true })
  code: string;
}

@ReadOnlyMembers('account_code', 'voucher_code', 'uses')
export class VoucherBody {
  @Field(oneOf(DISCOUNT_TYPES, 'discount_type_invalid'), { required: true })
  discount_type: DiscountType;

  @Field(decimal(0, MOST_DISCOUNT), {
    required: true,
    description: 'The discount, at most 100 for PERCENT.',
    example: 25,
    agreements: [isPossible, hasItsDecimals],
  })
  discount_value: number;

  @Field(
    text({
      max: 3,
      code: 'currency_invalid',
      form: 'Must be a three-letter code of ISO 4217.',
      accepts: (value) => isISO4217CurrencyCode(value) && isMoney(value),
      example: 'USD',
    }),
    {
      description: 'Code of the currency (ISO 4217) in upper or lower case; stored in upper case. Required for AMOUNT.',
    },
  )
  currency?: string | null;

  @Field(listOf(code(), MOST_TESTS), {
    description: 'The tests for which the voucher is valid. An empty list means every test of the account.',
  })
  test_codes?: string[] | null;

  @Field(dateTime(), { description: 'Start of the validity, included.' })
  valid_from?: string | null;

  @Field(dateTime('last'), { description: 'End of the validity, included.', agreements: [isOrdered] })
  valid_until?: string | null;

  @Field(integer(1, MOST_USES), {
    description: 'Number of eligibilities that can have the voucher at the same time. When left out, it is 1.',
  })
  max_uses?: number | null;

  @Field(boolean(), { description: 'A disabled voucher is unknown to clients. When left out, the value is false.' })
  disabled?: boolean | null;
}

export class VoucherModel extends VoucherBody {
  @Field(accountCodeRule, { required: true })
  account_code: string;

  @Field(catalogueCode(), { required: true })
  voucher_code: string;

  @Field(integer(0, MOST_USES), { required: true, description: 'Number of eligibilities that have the voucher now.' })
  uses: number;
}
