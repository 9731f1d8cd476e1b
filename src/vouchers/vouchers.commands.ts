import { Command } from '@nestjs/cqrs';
import type { Fault } from '../platform/errors.js';
import type { DiscountType, Voucher } from './voucher.entity.js';

export interface VoucherDefinition {
  discount_type: DiscountType;
  discount_value: number;
  /** ISO 4217. */
  currency: string | null;
  /** The tests that it is limited to; empty: every test of the account. */
  test_codes: string[];
  /** First and last moment of its validity; both belong to it. */
  valid_from: Date | null;
  valid_until: Date | null;
  max_uses: number;
  disabled: boolean;
}

/**
 * Makes the voucher, or replaces its definition; its uses stay.
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

/** @throws DomainError not_found; forbidden_operation while an eligibility has the voucher */
export class DeleteVoucher extends Command<void> {
  constructor(
    readonly accountCode: string,
    readonly voucherCode: string,
  ) {
    super();
  }
}

/** Why a voucher cannot be redeemed: voucher_unknown, _not_applicable, _not_yet_valid, _expired or _exhausted. */
export interface VoucherRefusal {
  readonly voucherCode: string;
  readonly code: string;
  readonly detail: string;
}

/** The faults of a list of codes: each refusal at the place of its code in the list. */
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
 * Makes the vouchers of an eligibility exactly these: releases those left out, redeems the new ones. Those that it has
 * already stay, even when they could not be redeemed any more. Repeats collapse. In the caller's transaction, which holds
 * the row of the eligibility: two calls for one record must not meet here. Answers with the codes that cannot be redeemed:
 * when there is one, nothing was changed.
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

/** Takes all vouchers off an eligibility and gives their uses back. In the caller's transaction, as SetVouchers. */
export class ReleaseVouchers extends Command<void> {
  constructor(readonly svcEligibilityId: string) {
    super();
  }
}
