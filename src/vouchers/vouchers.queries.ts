import { Query } from '@nestjs/cqrs';
import type { Fault } from '../platform/errors.js';

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
 * The faults that `SetVouchers` would refuse these codes with, for a request that is refused anyway and is to name
 * all of its faults. Locks and redeems nothing.
 *
 * `svcEligibilityId` is null for a record that is yet to be made. `pointers[i]` is where `voucherCodes[i]` stands.
 */
export class FindVoucherFaults extends Query<Fault[]> {
  constructor(
    readonly accountCode: string,
    readonly svcEligibilityId: string | null,
    readonly testCode: string,
    readonly voucherCodes: readonly string[],
    readonly pointers: readonly string[],
  ) {
    super();
  }
}
