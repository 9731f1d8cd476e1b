import { assertJsonBytes } from '../platform/http/json-text.js';
import { readResultBody, type KeptBody } from './result-body.js';
import { CandidateResultData, CandidateResultsDetails } from './results.dto.js';
import {
  accountFacts,
  registrationFacts,
  type AccountFacts,
  type RegistrationFacts,
  type ResultSource,
} from './results.rules.js';

/** A body that was delivered: what is kept of it, and what it is matched by. */
export interface Delivered<Facts> {
  readonly kept: KeptBody;
  readonly facts: Facts;
}

export interface FactsOf {
  REGISTRATION: RegistrationFacts;
  ACCOUNT: AccountFacts;
}

const READERS: { [Source in ResultSource]: (bytes: Buffer | undefined) => Delivered<FactsOf[Source]> } = {
  REGISTRATION: (bytes) => {
    const { value, kept } = readResultBody(CandidateResultsDetails, bytes);
    return { kept, facts: registrationFacts(value) };
  },
  ACCOUNT: (bytes) => {
    const { value, kept } = readResultBody(CandidateResultData, bytes);
    return { kept, facts: accountFacts(value) };
  },
};

/** @throws DomainError malformed_json, payload_too_large, validation_error with every fault */
export function readDelivered<Source extends ResultSource>(
  source: Source,
  bytes: Buffer | undefined,
): Delivered<FactsOf[Source]> {
  if (bytes !== undefined) assertJsonBytes(bytes);
  return READERS[source](bytes);
}
