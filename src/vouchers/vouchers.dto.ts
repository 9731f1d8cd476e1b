import { isISO4217CurrencyCode, ValidateBy, type ValidationArguments } from 'class-validator';
import { parseDateTime } from '../platform/clock.js';
import { Field, type FieldContext } from '../platform/validation/fields.js';
import { boolean, code, dateTime, decimal, integer, listOf, oneOf, text } from '../platform/validation/rules.js';
import { AccountPath, accountCodeRule } from '../platform/validation/identifiers.js';
import { ReadOnlyMembers } from '../platform/validation/validation.pipe.js';
import { DISCOUNT_TYPES, type DiscountType } from './vouchers.commands.js';
import { hasDecimalsOf, isMoney } from './vouchers.rules.js';

// The columns' range: numeric(12, 2) and int.
const MOST_DISCOUNT = 9_999_999_999.99;
const MOST_USES = 2_147_483_647;
const MOST_TESTS = 200;

/** A member that must agree with the others of the body. */
const Agrees = (detail: string, errorCode: string, agrees: (body: VoucherBody) => boolean) =>
  ValidateBy(
    {
      name: errorCode,
      validator: {
        validate: (_value: unknown, args?: ValidationArguments) => agrees(args!.object as VoucherBody),
        defaultMessage: () => errorCode,
      },
    },
    { context: { code: errorCode, detail } satisfies FieldContext },
  );

function isPossible({ discount_type, discount_value }: VoucherBody): boolean {
  return discount_type !== 'PERCENT' || typeof discount_value !== 'number' || discount_value <= 100;
}

function hasItsDecimals({ discount_type, discount_value, currency }: VoucherBody): boolean {
  return (
    discount_type !== 'AMOUNT' ||
    typeof discount_value !== 'number' ||
    typeof currency !== 'string' ||
    hasDecimalsOf(discount_value, currency)
  );
}

function isOrdered({ valid_from, valid_until }: VoucherBody): boolean {
  const from = typeof valid_from === 'string' ? parseDateTime(valid_from) : null;
  const until = typeof valid_until === 'string' ? parseDateTime(valid_until) : null;
  return from === null || until === null || from <= until;
}

export class VoucherPath extends AccountPath {
  @Field(code(), { required: true })
  code: string;
}

@ReadOnlyMembers('account_code', 'voucher_code', 'uses')
export class VoucherBody {
  @Field(oneOf(DISCOUNT_TYPES, 'discount_type_invalid'), { required: true })
  discount_type: DiscountType;

  @Agrees('Must be at most 100 for PERCENT.', 'percent_too_high', isPossible)
  @Agrees('Must have no more decimals than the currency.', 'too_many_decimals', hasItsDecimals)
  @Field(decimal(0, MOST_DISCOUNT, 2), { required: true, description: 'At most 100 for PERCENT.', example: 25 })
  discount_value: number;

  @Field(
    text({
      max: 3,
      code: 'currency_invalid',
      form: 'Must be a three-letter code of ISO 4217.',
      accepts: (value) => isISO4217CurrencyCode(value) && isMoney(value),
      example: 'USD',
    }),
    { description: 'ISO 4217, any case; kept in upper case. Required for AMOUNT.' },
  )
  currency?: string | null;

  @Field(listOf(code(), MOST_TESTS), {
    description: 'The tests that it is limited to; empty: every test of the account.',
  })
  test_codes?: string[] | null;

  @Field(dateTime(), { description: 'First moment of its validity, included.' })
  valid_from?: string | null;

  @Agrees('Must not lie before valid_from.', 'ends_before_start', isOrdered)
  @Field(dateTime(), { description: 'Last moment of its validity, included.' })
  valid_until?: string | null;

  @Field(integer(1, MOST_USES), { description: 'How many eligibilities may have it at once; 1 when left out.' })
  max_uses?: number | null;

  @Field(boolean(), { description: 'Clients see a disabled voucher as unknown; false when left out.' })
  disabled?: boolean | null;
}

export class VoucherModel extends VoucherBody {
  @Field(accountCodeRule, { required: true })
  account_code: string;

  @Field(code(), { required: true })
  voucher_code: string;

  @Field(integer(0, MOST_USES), { required: true, description: 'How many eligibilities have it now.' })
  uses: number;
}
