import type { Schemas } from '../api/client';

export type CandidateRecord = Schemas['OperatorEligibilityModel'];
export type Action = CandidateRecord['allows'][number];

export function nameOf(candidate: Schemas['CandidateModel']): string {
  return [candidate.first_name, candidate.middle_name, candidate.last_name, candidate.suffix].filter(Boolean).join(' ');
}

/**
 * The actions on a record that the console does not offer. Only clients and test drivers perform them, through the API.
 */
export const BY_CLIENTS: Partial<Record<Action, string>> = {
  UPDATE: 'update the record',
  RESULT: 'deliver a result',
  LAUNCH: 'request a launch link',
};

/** Returns the special accommodations of a record by name, or by code if the accommodation was deleted. */
export function accommodationNames({ accommodations }: CandidateRecord): string[] {
  return accommodations.map(({ accommodation_code: code, name }) => name ?? code);
}
