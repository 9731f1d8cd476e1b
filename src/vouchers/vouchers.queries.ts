import { Query } from '@nestjs/cqrs';
import type { Fault } from '../platform/errors.js';

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
