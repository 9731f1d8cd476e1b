import { Query } from '@nestjs/cqrs';
import type { VoucherRefusal } from './vouchers.commands.js';

/** Asks for the codes of an eligibility's vouchers. */
export class FindAppliedVouchers extends Query<string[]> {
  constructor(readonly svcEligibilityId: string) {
    super();
  }
}

/**
 * Asks for the voucher codes of many eligibilities, by the id of the eligibility; eligibilities without vouchers are
 * omitted.
 */
export class FindVouchersOfMany extends Query<Map<string, string[]>> {
  constructor(readonly svcEligibilityIds: readonly string[]) {
    super();
  }
}

/**
 * Asks for the faults that `SetVouchers` would find, for a request that is refused anyway and lists all its faults. It
 * locks and redeems nothing. `svcEligibilityId` is null for a record that does not exist yet.
 */
export class FindVoucherRefusals extends Query<VoucherRefusal[]> {
  constructor(
    readonly accountCode: string,
    readonly svcEligibilityId: string | null,
    readonly testCode: string,
    readonly voucherCodes: readonly string[],
  ) {
    super();
  }
}
