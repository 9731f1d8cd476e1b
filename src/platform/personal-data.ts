import { Injectable } from '@nestjs/common';
import type { PersonNames } from './person.js';

/** A candidate of an account, by the id that the client gave. */
export interface Candidate {
  readonly accountCode: string;
  readonly candidateId: string;
}

/** A candidate, and what leads to the rows that are about them. */
export interface Subject extends Candidate {
  readonly svcEligibilityIds: readonly string[];
  readonly bookingCodes: readonly string[];
  /** The client's own ids of the records, which say nothing outside of the account. */
  readonly clientEligibilityIds: readonly string[];
  /** As the records have them. */
  readonly emails: readonly string[];
  /** By what a text that somebody wrote names them. */
  readonly person: PersonNames;
  /** By what audit rows name whatever else is about the candidate. */
  readonly otherSubjects: readonly string[];
}

/** Replaces a name that may not be missing. */
export const ERASED = 'erased';

/** The data about candidates in the tables of a module. */
export abstract class PersonalData {
  /** All of it, under names for the document that the candidate gets. */
  abstract export(subject: Subject): Promise<Record<string, unknown>>;

  /**
   * Replaces or removes whatever tells who the candidate is, in the caller's transaction: ids become the pseudonym, and
   * what counts (states, scores, order, proof of delivery) stays.
   */
  abstract erase(subject: Subject, pseudonym: string): Promise<void>;

  /** Returns the ids by which audit rows name what the module has of these bookings. */
  auditSubjects(_accountCode: string, _bookingCodes: readonly string[]): Promise<string[]> {
    return Promise.resolve([]);
  }

  /** The results of the module that only a name ties to the subject: a person has to say whose they are. */
  findTiedByName(_subject: Subject): Promise<string[]> {
    return Promise.resolve([]);
  }

  /** Takes away what would still make records of the candidate; before their records are looked for. */
  withhold(_candidate: Candidate): Promise<void> {
    return Promise.resolve();
  }
}

/** Everybody who holds personal data: each module answers for its own tables. */
@Injectable()
export class PersonalDataHolders {
  private readonly holders: PersonalData[] = [];

  register(holder: PersonalData): void {
    this.holders.push(holder);
  }

  all(): readonly PersonalData[] {
    return this.holders;
  }
}

/** Members of a NotificationRequest, and of the booking that it is made of, that tell who the candidate is. */
export function withoutPerson<Snapshot extends Record<string, unknown>>(
  snapshot: Snapshot,
  pseudonym: string,
): Record<string, unknown> {
  const replaced: Record<string, unknown> = {
    candidate_fname: ERASED,
    candidate_mname: ERASED,
    candidate_lname: ERASED,
    candidate_id: pseudonym,
    client_eligibility_id: pseudonym,
  };
  return Object.fromEntries(
    Object.entries(snapshot).map(([name, value]) => [name, value != null && name in replaced ? replaced[name] : value]),
  );
}
