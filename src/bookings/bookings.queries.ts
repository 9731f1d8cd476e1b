import { Query } from '@nestjs/cqrs';

/** Asks for the codes of all bookings of the given eligibilities. */
export class FindBookingCodes extends Query<string[]> {
  constructor(readonly svcEligibilityIds: readonly string[]) {
    super();
  }
}
