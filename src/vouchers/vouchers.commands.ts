import { Command } from '@nestjs/cqrs';
import type { Fault } from '../platform/errors.js';
import type { DiscountType, Voucher } from './voucher.entity.js';

export interface VoucherDefinition {
  discount_type: DiscountType;
  discount_value: number;
  /** The code of the currency (ISO 4217); null for a percentage. */
  currency: string | null;
  /** The tests to which the voucher is limited; empty means every test of the account. */
  test_codes: string[];
  /** The first and the last second of the voucher's validity, both included. */
  valid_from: Date | null;
  valid_until: Date | null;
  max_uses: number;
  disabled: boolean;
}

/**
 * Creates the voucher, or replaces its definition. The number of its uses is kept.
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
 * Deletes the voucher.
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
 * The reason why a voucher cannot be redeemed, as a code: voucher_unknown, _not_applicable, _not_yet_valid, _expired or
 * _exhausted.
 */
export interface VoucherRefusal {
  readonly voucherCode: string;
  readonly code: string;
  readonly detail: string;
}

/** Returns a fault for each refused voucher, at the index of its code in the list. */
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
 * Sets the vouchers of an eligibility: releases those that are not in the list, and redeems the new ones. Vouchers that
 * the eligibility already has stay, even if they could no longer be redeemed. Duplicates count once. Returns the codes
 * that cannot be redeemed; if there are any, nothing was changed.
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
 * Releases all vouchers of an eligibility and restores their uses. It runs in the current transaction, like {@link
 * SetVouchers}.
 */
export class ReleaseVouchers extends Command<void> {
  constructor(readonly svcEligibilityId: string) {
    super();
  }
}
