import { Query } from '@nestjs/cqrs';
import type { VoucherRefusal } from './vouchers.commands.js';

/** The codes of the vouchers that an eligibility has. */
export class FindAppliedVouchers extends Query<string[]> {
  constructor(readonly svcEligibilityId: string) {
    super();
  }
}

/** The codes of the vouchers of many eligibilities, by the id of the eligibility; those without any are not there. */
export class FindVouchersOfMany extends Query<Map<string, string[]>> {
  constructor(readonly svcEligibilityIds: readonly string[]) {
    super();
  }
}

/**
 * Returns the faults that `SetVouchers` would find, for a request that is refused anyway and names all its faults.
 * Locks and redeems nothing. `svcEligibilityId` is null for a record that is yet to be made.
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
