import { Injectable } from '@nestjs/common';
import { acrossAccounts, Database } from '../platform/database/database.js';
import { PersonalData, PersonalDataHolders, type Subject } from '../platform/personal-data.js';

const FIND = {
  text: 'SELECT * FROM bookings WHERE svc_eligiblity_id = ANY ($1::text[]) ORDER BY created_datetime DESC',
  across: acrossAccounts.keyInHand,
};
const ERASE = {
  text: 'UPDATE bookings SET candidate_id = $2 WHERE svc_eligiblity_id = ANY ($1::text[])',
  across: acrossAccounts.keyInHand,
};

/**
 * Handles the personal data in bookings, which consists of the candidate's id, the place and the time. Only the id
 * identifies a person, so only the id is erased.
 */
@Injectable()
export class BookingPersonalData extends PersonalData {
  constructor(
    private readonly database: Database,
    holders: PersonalDataHolders,
  ) {
    super();
    holders.register(this);
  }

  async export({ svcEligibilityIds }: Subject): Promise<Record<string, unknown>> {
    return { bookings: await this.database.query(FIND, [svcEligibilityIds]) };
  }

  async erase({ svcEligibilityIds }: Subject, pseudonym: string): Promise<void> {
    await this.database.execute(ERASE, [svcEligibilityIds, pseudonym]);
  }
}
