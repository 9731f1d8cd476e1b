import { Query } from '@nestjs/cqrs';

/** Asks for the codes of all bookings for the given eligibilities. */
export class FindBookingCodes extends Query<string[]> {
  constructor(readonly svcEligibilityIds: readonly string[]) {
    super();
  }
}
