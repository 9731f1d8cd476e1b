import { Command } from '@nestjs/cqrs';
import type { Fault } from '../platform/errors.js';
import type { DiscountType, Voucher } from './voucher.entity.js';

export interface VoucherDefinition {
  discount_type: DiscountType;
  discount_value: number;
  /** The ISO 4217 code of the discount's currency; null for a percentage. */
  currency: string | null;
  /** The tests to which the voucher is limited; empty means every test of the account. */
  test_codes: string[];
  /** The first second and the last second in which the voucher is valid. */
  valid_from: Date | null;
  valid_until: Date | null;
  max_uses: number;
  disabled: boolean;
}

/**
 * Creates a voucher, or replaces the voucher's definition. A replaced voucher keeps its number of uses.
 * @throws DomainError account_not_found; validation_error with `test_unknown` at `/test_codes/{index}`
 */
export class PutVoucher extends Command<Voucher> {
  constructor(
    readonly accountCode: string,
    readonly voucherCode: string,
    readonly definition: VoucherDefinition,
  ) {
    super();
  }
}

/**
 * Deletes a voucher.
 * @throws DomainError not_found; forbidden_operation while an eligibility has the voucher
 */
export class DeleteVoucher extends Command<void> {
  constructor(
    readonly accountCode: string,
    readonly voucherCode: string,
  ) {
    super();
  }
}

/**
 * A voucher that cannot be redeemed, with the reason as a code: voucher_unknown, voucher_not_applicable,
 * voucher_not_yet_valid, voucher_expired or voucher_exhausted.
 */
export interface VoucherRefusal {
  readonly voucherCode: string;
  readonly code: string;
  readonly detail: string;
}

/** Returns a fault for each refused voucher. The fault's pointer has the index of the voucher code in the list. */
export function refusalFaults(
  refusals: readonly VoucherRefusal[],
  codes: readonly unknown[],
  pointer: string,
): Fault[] {
  return refusals.map(({ voucherCode, code, detail }) => ({
    pointer: `${pointer}/${codes.indexOf(voucherCode)}`,
    code,
    detail,
  }));
}

/**
 * Sets the vouchers of an eligibility: releases the vouchers that are not in the list, and redeems the new vouchers. A
 * voucher that the eligibility already has is kept, even if it could no longer be redeemed. A code that is listed twice
 * counts once. Returns the vouchers that cannot be redeemed. If any voucher cannot be redeemed, nothing is changed.
 *
 * The command runs in the current transaction, which must have locked the row of the eligibility.
 */
export class SetVouchers extends Command<VoucherRefusal[]> {
  constructor(
    readonly accountCode: string,
    readonly svcEligibilityId: string,
    readonly testCode: string,
    readonly voucherCodes: readonly string[],
  ) {
    super();
  }
}

/**
 * Releases all vouchers of an eligibility, and lowers their numbers of uses accordingly. The command runs in the
 * current transaction, like {@link SetVouchers}.
 */
export class ReleaseVouchers extends Command<void> {
  constructor(readonly svcEligibilityId: string) {
    super();
  }
}
