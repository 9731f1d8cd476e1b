import { Injectable } from '@nestjs/common';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { FindBookingCodes } from '../bookings/bookings.queries.js';
import { CancelEligibility, LockEligibilitiesOfCandidate } from '../eligibility/eligibility.commands.js';
import { EligibilityErased } from '../eligibility/eligibility.events.js';
import { OPEN_STATUSES, statusAt } from '../eligibility/eligibility.fields.js';
import { FindEligibilities, type Eligibility } from '../eligibility/eligibility.queries.js';
import { Clock } from '../platform/clock.js';
import type { PersonNames } from '../platform/person.js';
import {
  ERASED_ID,
  ERASED_ID_LENGTH,
  PersonalDataHolders,
  type Candidate,
  type Subject,
} from '../platform/personal-data.js';
import { randomCode } from '../platform/secrets.js';
import { UnitOfWork } from '../platform/unit-of-work/unit-of-work.js';
import { candidateHasOpenBooking } from './privacy.errors.js';

/**
 * Exports and erases everything stored about a candidate.
 *
 * 1. Import rows that were not processed yet could still create records of the candidate. They are deleted first, under
 *    a lock.
 * 2. The candidate's records are locked, so that nobody can book an exam, change a record or deliver a result during
 *    the erasure. A SCHEDULED record prevents the erasure.
 * 3. PENDING and ELIGIBLE records are cancelled in the same way as by a request. Their vouchers are released.
 * 4. Each module erases its own tables, under one pseudonym that cannot be traced back. The platform rewrites the
 *    events first. A process that turns events into notifications keeps the events locked until the notifications are
 *    committed. No notification with the old data can therefore appear after the notifications were rewritten
 *    (test/proof/model/records).
 * 5. A record that was erased before keeps its pseudonym and is not reported again.
 * 6. The whole erasure is one transaction, so a candidate is erased everywhere or nowhere.
 *
 * Never write the candidate's id to the audit log or elsewhere during the erasure, because the audit log is permanent.
 */
@Injectable()
export class Erasure {
  constructor(
    private readonly commandBus: CommandBus,
    private readonly queryBus: QueryBus,
    private readonly clock: Clock,
    private readonly unitOfWork: UnitOfWork,
    private readonly holders: PersonalDataHolders,
  ) {}

  /**
   * Returns the candidate with the keys of all stored rows about the candidate.
   * @throws DomainError candidate_not_found
   */
  async subjectOf(candidate: Candidate): Promise<Subject> {
    const records = await this.recordsOf(candidate);
    const svcEligibilityIds = records.map((record) => record.svc_eligiblity_id);
    const bookingCodes = await this.queryBus.execute(new FindBookingCodes(svcEligibilityIds));
    return {
      ...candidate,
      svcEligibilityIds,
      bookingCodes,
      clientEligibilityIds: records.flatMap(({ client_eligibility_id: id }) => (id === null ? [] : [id])),
      emails: records.flatMap(({ email }) => (email === null ? [] : [email])),
      person: personOf(records),
      otherSubjects: (
        await Promise.all(
          this.holders
            .all()
            .map((one) => one.auditSubjects(candidate.accountCode, [...svcEligibilityIds, ...bookingCodes])),
        )
      ).flat(),
    };
  }

  /**
   * Checks that the candidate can be erased. Returns the number of the candidate's records to erase.
   * @throws DomainError candidate_not_found, candidate_has_open_booking
   */
  async assertErasable(candidate: Candidate): Promise<number> {
    const records = await this.recordsOf(candidate);
    const booked = records.flatMap(({ status, booking_code: code }) => (status === 'SCHEDULED' ? [code] : []));
    if (booked.length > 0)
      throw candidateHasOpenBooking.error({
        detail: `Cancel the booking ${booked.join(', ')} first, or wait until the exam is over.`,
        members: { booking_code: booked[0] },
      });
    return records.length;
  }

  /**
   * Erases all data about the candidate.
   * @throws DomainError candidate_not_found, candidate_has_open_booking
   */
  erase(candidate: Candidate): Promise<{ pseudonym: string; records: number; tiedByName: string[] }> {
    return this.unitOfWork.run(async () => {
      const { accountCode, candidateId } = candidate;
      for (const holder of this.holders.all()) await holder.withhold(candidate);
      await this.commandBus.execute(new LockEligibilitiesOfCandidate(accountCode, candidateId));
      await this.assertErasable(candidate);
      const now = this.clock.now();
      for (const record of await this.recordsOf(candidate))
        if (OPEN_STATUSES.includes(statusAt(record, now)))
          await this.commandBus.execute(new CancelEligibility(accountCode, candidateId, record.test_code));
      // The buffered changes are written before the erasure, because their entries in the change feed contain the
      // candidate's id.
      this.unitOfWork.recordNow();
      const subject = await this.subjectOf(candidate);
      const before = await this.recordsOf(candidate);
      const erasedBefore = new Set(before.filter(isErased).map((record) => record.svc_eligiblity_id));
      const pseudonym = before.every(isErased) ? candidateId : ERASED_ID + randomCode(ERASED_ID_LENGTH);
      const tiedByName = (await Promise.all(this.holders.all().map((holder) => holder.findTiedByName(subject)))).flat();
      for (const holder of this.holders.all()) await holder.erase(subject, pseudonym);
      const erased = await this.recordsOf({ accountCode, candidateId: pseudonym });
      for (const record of erased) {
        const { svc_eligiblity_id, candidate_id, test_code } = record;
        if (erasedBefore.has(svc_eligiblity_id)) continue;
        this.unitOfWork.audit('candidate.erase', svc_eligiblity_id, { accountCode });
        this.unitOfWork.raiseOf(EligibilityErased, {
          kind: 'ELIGIBILITY',
          at: now,
          account_code: accountCode,
          svc_eligiblity_id,
          candidate_id,
          test_code,
          status: statusAt(record, now),
        });
      }
      return { pseudonym, records: erased.length, tiedByName };
    });
  }

  private recordsOf({ accountCode, candidateId }: Candidate) {
    return this.queryBus.execute(new FindEligibilities(accountCode, candidateId));
  }
}

function isErased({ erased_datetime }: Eligibility): boolean {
  return erased_datetime !== null;
}

/**
 * Returns the names and identifiers by which texts identify the candidate. City, province, postal code and country are
 * excluded, because other people have them, too.
 */
function personOf(records: readonly Eligibility[]): PersonNames {
  const known = records.filter((record) => !isErased(record));
  const ids = known.flatMap((record) => [
    record.candidate_id,
    record.client_eligibility_id,
    record.email,
    record.home_phone,
    record.office_phone,
    record.address1,
    record.address2,
  ]);
  return {
    ids: [...new Set(ids.filter((id) => id !== null))],
    names: known.map(({ first_name, middle_name, last_name }) => [first_name, middle_name ?? '', last_name]),
  };
}
