import { Injectable } from '@nestjs/common';
import type { PersonNames } from './person.js';

/** A candidate of an account, by the client's id. */
export interface Candidate {
  readonly accountCode: string;
  readonly candidateId: string;
}

/** A candidate, and the keys of the rows about them. */
export interface Subject extends Candidate {
  readonly svcEligibilityIds: readonly string[];
  readonly bookingCodes: readonly string[];
  /** The client's own ids of the records, which are meaningless outside the account. */
  readonly clientEligibilityIds: readonly string[];
  /** The e-mail addresses in the records. */
  readonly emails: readonly string[];
  /** The words by which a text can name the candidate. */
  readonly person: PersonNames;
  /** The ids by which audit rows name other things about the candidate. */
  readonly otherSubjects: readonly string[];
}

/** Replaces a name in a member that must not be empty. */
export const ERASED = 'erased';

/** The data about candidates in the tables of one module. */
export abstract class PersonalData {
  /** Returns all data about the candidate, under names for the document that the candidate gets. */
  abstract export(subject: Subject): Promise<Record<string, unknown>>;

  /**
   * Replaces or deletes all data that identifies the candidate, in the caller's transaction. Ids become the pseudonym;
   * states, scores, order and proof of delivery stay.
   */
  abstract erase(subject: Subject, pseudonym: string): Promise<void>;

  /** Returns the ids by which audit rows name the module's data of these bookings. */
  auditSubjects(_accountCode: string, _bookingCodes: readonly string[]): Promise<string[]> {
    return Promise.resolve([]);
  }

  /** Returns the module's results that only a name links to the subject: a person has to decide whose they are. */
  findTiedByName(_subject: Subject): Promise<string[]> {
    return Promise.resolve([]);
  }

  /** Deletes data that could still create records of the candidate; it runs before the records are collected. */
  withhold(_candidate: Candidate): Promise<void> {
    return Promise.resolve();
  }
}

/** The registry of personal data: each module answers for its own tables. */
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

/** Removes the members that identify the candidate from a NotificationRequest or its booking. */
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
