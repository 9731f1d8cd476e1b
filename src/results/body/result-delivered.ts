import { assertJsonBytes } from '../../platform/http/json-text.js';
import { readResultBody, type KeptBody } from './result-body.js';
import type { Judged } from './result-judgement.js';
import { CandidateResultData, CandidateResultsDetails, DECIDING_OF_REGISTRATION } from './results.dto.js';
import {
  accountFacts,
  registrationFacts,
  type AccountFacts,
  type RegistrationFacts,
  type ResultSource,
} from './results.rules.js';

/**
 * The body of a delivered result, with the parts to store and the members by which the result is matched with an exam.
 */
export interface Delivered<Facts> extends Judged {
  readonly kept: KeptBody;
  readonly facts: Facts;
}

export interface FactsOf {
  REGISTRATION: RegistrationFacts;
  ACCOUNT: AccountFacts;
}

const READERS: { [Source in ResultSource]: (bytes: Buffer | undefined) => Delivered<FactsOf[Source]> } = {
  REGISTRATION: (bytes) => {
    const { value, ...read } = readResultBody(CandidateResultsDetails, bytes, DECIDING_OF_REGISTRATION);
    return { ...read, facts: registrationFacts(value) };
  },
  ACCOUNT: (bytes) => {
    const { value, ...read } = readResultBody(CandidateResultData, bytes);
    return { ...read, facts: accountFacts(value) };
  },
};

/**
 * Reads the body of a delivered result.
 * @throws DomainError malformed_json, payload_too_large, validation_error when the body is not an object
 */
export function readDelivered<Source extends ResultSource>(
  source: Source,
  bytes: Buffer | undefined,
): Delivered<FactsOf[Source]> {
  if (bytes !== undefined) assertJsonBytes(bytes);
  return READERS[source](bytes);
}
