import { Command } from '@nestjs/cqrs';
import type { Fault } from '../platform/errors.js';
import type { DiscountType, Voucher } from './voucher.entity.js';

export interface VoucherDefinition {
  discount_type: DiscountType;
  discount_value: number;
  /** ISO 4217. */
  currency: string | null;
  /** The tests to which the voucher is limited; empty means every test of the account. */
  test_codes: string[];
  /** The first and last moment of its validity, inclusive. */
  valid_from: Date | null;
  valid_until: Date | null;
  max_uses: number;
  disabled: boolean;
}

/**
 * Creates the voucher, or replaces its definition; its uses stay.
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

/**
 * The reason why a voucher cannot be redeemed: voucher_unknown, _not_applicable, _not_yet_valid, _expired or
 * _exhausted.
 */
export interface VoucherRefusal {
  readonly voucherCode: string;
  readonly code: string;
  readonly detail: string;
}

/** Returns the faults of a list of codes: each refusal at the index of its code. */
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
 * Sets the vouchers of an eligibility: releases the missing ones and redeems the new ones. Vouchers that it already has
 * stay, even when they could no longer be redeemed. Duplicates count once. It runs in the caller's transaction, which
 * has locked the eligibility's row. Returns the codes that cannot be redeemed; if there is one, nothing was changed.
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

/** Releases all vouchers of an eligibility and restores their uses, in the caller's transaction as SetVouchers. */
export class ReleaseVouchers extends Command<void> {
  constructor(readonly svcEligibilityId: string) {
    super();
  }
}
