import { Query } from '@nestjs/cqrs';

/** Asks for the codes of all bookings that these eligibilities have. */
export class FindBookingCodes extends Query<string[]> {
  constructor(readonly svcEligibilityIds: readonly string[]) {
    super();
  }
}
