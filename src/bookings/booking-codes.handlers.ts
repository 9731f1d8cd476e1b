import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { acrossAccounts, Database } from '../platform/database/database.js';
import { FindBookingCodes } from './bookings.queries.js';

@QueryHandler(FindBookingCodes)
export class FindBookingCodesHandler implements IQueryHandler<FindBookingCodes> {
  constructor(private readonly database: Database) {}

  async execute({ svcEligibilityIds }: FindBookingCodes): Promise<string[]> {
    const rows = await this.database.query<{ booking_code: string }>(
      {
        text: 'SELECT booking_code FROM bookings WHERE svc_eligiblity_id = ANY ($1::text[])',
        across: acrossAccounts.keyInHand,
      },
      [svcEligibilityIds],
    );
    return rows.map((row) => row.booking_code);
  }
}
