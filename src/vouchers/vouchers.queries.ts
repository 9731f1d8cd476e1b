import { Query } from '@nestjs/cqrs';
import type { VoucherRefusal } from './vouchers.commands.js';

/** Asks for the voucher codes of an eligibility. */
export class FindAppliedVouchers extends Query<string[]> {
  constructor(readonly svcEligibilityId: string) {
    super();
  }
}

/**
 * Asks for the voucher codes of many eligibilities. The keys of the result are the ids of eligibilities. Eligibilities
 * without vouchers are omitted.
 */
export class FindVouchersOfMany extends Query<Map<string, string[]>> {
  constructor(readonly svcEligibilityIds: readonly string[]) {
    super();
  }
}

/**
 * Asks for the faults that {@link SetVouchers} would report. The query is used for a request that is refused anyway,
 * because the refusal lists all faults. Nothing is locked or redeemed. `svcEligibilityId` is null if the eligibility
 * does not exist yet.
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
