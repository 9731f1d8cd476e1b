import { Injectable } from '@nestjs/common';
import type { PersonNames } from './person.js';

/** A candidate of an account, identified by the id that the client has given to the candidate. */
export interface Candidate {
  readonly accountCode: string;
  readonly candidateId: string;
}

/** A candidate, with the keys of all stored rows about the candidate. */
export interface Subject extends Candidate {
  readonly svcEligibilityIds: readonly string[];
  readonly bookingCodes: readonly string[];
  /** The ids that the client itself gave to the candidate's records; they have no meaning outside the account. */
  readonly clientEligibilityIds: readonly string[];
  /** The e-mail addresses in the candidate's records. */
  readonly emails: readonly string[];
  /** The names and identifiers that identify the candidate when they occur in free text. */
  readonly person: PersonNames;
  /** The ids by which the audit log refers to other rows about the candidate. */
  readonly otherSubjects: readonly string[];
}

/** The text that replaces an erased name where the name must not be empty. */
export const ERASED = 'erased';

/**
 * The prefix of the id that replaces an erased candidate's id, and the number of characters after the prefix. Together
 * they fit in every id column.
 */
export const ERASED_ID = 'ERASED-';
export const ERASED_ID_LENGTH = 12;

/** Handles the personal data of candidates in the tables of one module. */
export abstract class PersonalData {
  /** Returns all data that the module stores about the candidate, under the member names of the exported document. */
  abstract export(subject: Subject): Promise<Record<string, unknown>>;

  /**
   * Replaces or deletes all data that identifies the candidate, in the current transaction. The pseudonym replaces the
   * candidate's ids. States, scores, the order of rows and the proof of delivery are kept.
   */
  abstract erase(subject: Subject, pseudonym: string): Promise<void>;

  /**
   * Returns the ids by which the audit log refers to the module's data about the given eligibility records and
   * bookings.
   */
  auditSubjects(_accountCode: string, _codes: readonly string[]): Promise<string[]> {
    return Promise.resolve([]);
  }

  /**
   * Returns the ids of the module's exam results that are linked to the candidate only by a name. An operator has to
   * decide whether these results belong to the candidate.
   */
  findTiedByName(_subject: Subject): Promise<string[]> {
    return Promise.resolve([]);
  }

  /**
   * Deletes data from which new records of the candidate could still be created. The method is called before the
   * candidate's records are collected for an erasure.
   */
  withhold(_candidate: Candidate): Promise<void> {
    return Promise.resolve();
  }
}

/** The registry of the modules' handlers of personal data. Each module registers the handler for its own tables. */
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

/**
 * Returns a copy of the object (a NotificationRequest, its booking or the data of an event) that does not identify the
 * candidate. A fixed text replaces the candidate's names, and the pseudonym replaces the ids.
 */
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
