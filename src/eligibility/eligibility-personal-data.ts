import { Injectable } from '@nestjs/common';
import { Clock } from '../platform/clock.js';
import { acrossAccounts, Database } from '../platform/database/database.js';
import { namesPerson } from '../platform/person.js';
import {
  ERASED_ID,
  ERASED_ID_LENGTH,
  ERASED,
  PersonalData,
  PersonalDataHolders,
  type Subject,
} from '../platform/personal-data.js';
import { randomCode } from '../platform/secrets.js';

const FIND = {
  text: 'SELECT * FROM eligibilities WHERE svc_eligiblity_id = ANY ($1::text[]) ORDER BY position DESC',
  across: acrossAccounts.keyInHand,
};
/**
 * Replaces the candidate's data in the records. $1: the ids of the records; $2: the candidate's pseudonym; $3: one
 * pseudonym for each client_eligibility_id, because these ids are unique; $4: the current time.
 */
const ERASE = {
  text: `UPDATE eligibilities SET candidate_id = $2,
           client_eligibility_id = CASE WHEN eligibilities.client_eligibility_id IS NOT NULL THEN erased.client_eligibility_id END,
           first_name = '${ERASED}', last_name = '${ERASED}', middle_name = NULL, suffix = NULL, address1 = NULL,
           address2 = NULL, city = NULL, province_state = NULL, postal_code = NULL, country = NULL, email = NULL,
           home_phone = NULL, office_phone = NULL, school_code = NULL, special_accommodations = '{}',
           additional_attributes = '[]', hold_reason = CASE WHEN hold_reason IS NOT NULL THEN '${ERASED}' END,
           decline_reason = CASE WHEN decline_reason IS NOT NULL THEN '${ERASED}' END,
           updated_datetime = $4, erased_datetime = $4
         FROM unnest($1::text[], $3::text[]) AS erased (svc_eligiblity_id, client_eligibility_id)
         WHERE eligibilities.svc_eligiblity_id = erased.svc_eligiblity_id`,
  across: acrossAccounts.keyInHand,
};
// Finds the hold reasons of all PENDING and SCHEDULED records in the account, with the index
// eligibilities_waiting_hold_ix. Few other records have a hold reason.
const FIND_HOLDS = {
  text: `SELECT svc_eligiblity_id, hold_reason FROM eligibilities
         WHERE account_code = $1 AND hold_reason IS NOT NULL AND status IN ('PENDING', 'SCHEDULED')`,
};
const REPLACE_HOLDS = {
  across: acrossAccounts.keyInHand,
  text: `UPDATE eligibilities SET hold_reason = '${ERASED}' WHERE svc_eligiblity_id = ANY ($1::text[])`,
};

/** Handles the personal data in a candidate's eligibility records. */
@Injectable()
export class EligibilityPersonalData extends PersonalData {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    holders: PersonalDataHolders,
  ) {
    super();
    holders.register(this);
  }

  async export({ svcEligibilityIds }: Subject): Promise<Record<string, unknown>> {
    return { records: await this.database.query(FIND, [svcEligibilityIds]) };
  }

  async erase({ accountCode, svcEligibilityIds, person }: Subject, pseudonym: string): Promise<void> {
    await this.database.execute(ERASE, [
      svcEligibilityIds,
      pseudonym,
      svcEligibilityIds.map(() => ERASED_ID + randomCode(ERASED_ID_LENGTH)),
      this.clock.now(),
    ]);
    const holds = await this.database.query<{ svc_eligiblity_id: string; hold_reason: string }>(FIND_HOLDS, [
      accountCode,
    ]);
    const named = holds.filter(({ hold_reason }) => namesPerson(hold_reason, person));
    await this.database.execute(REPLACE_HOLDS, [named.map((record) => record.svc_eligiblity_id)]);
  }
}
