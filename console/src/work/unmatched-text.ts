import type { Schemas } from '../api/client';

export type Unmatched = Schemas['UnmatchedResultModel'];
export type Likely = Schemas['LikelyExamModel'];

const CODES: Record<string, string> = {
  registration_not_found: 'No registration matches the result',
  registration_ambiguous: 'More than one registration matches the result',
  registration_mismatch: 'The exam code and the record locator belong to different registrations',
  candidate_exam_not_found: 'None of the candidate’s exams matches the result',
  candidate_exam_ambiguous: 'More than one of the candidate’s exams matches the result',
  validation_error: 'A field in the result is not valid',
  malformed_json: 'The body of the result is not valid JSON',
  unsupported_media_type: 'The body of the result was not sent as JSON',
  malformed_request: 'The body of the result cannot be decompressed',
  result_id_conflict: 'The result id is already used for another candidate',
};

/** Explains why the service found no exam for the result. */
export function codeText(code: string): string {
  return CODES[code] ?? code;
}

const FAULTS: Record<string, string> = {
  type_invalid: 'has the wrong type',
  too_long: 'is too long',
  base64_invalid: 'is not valid base64',
  character_invalid: 'contains a character that is not allowed',
};

export function faultText(code: string): string {
  return FAULTS[code] ?? code;
}

const LIKENESSES: Record<Likely['because'][number], string> = {
  SVC_ELIGIBLITY_ID: 'Same record id',
  BOOKING_CODE: 'Same booking code',
  CLIENT_ELIGIBILITY_ID: 'Same client eligibility id',
  RECORD_LOCATOR: 'Same record locator',
  CANDIDATE_ID: 'Same candidate id',
  ID_SPELLING: 'Same id, written differently',
  EMAIL: 'Same e-mail address',
  ID_ONE_CHARACTER: 'An id differs by one character',
  NAME: 'Same name',
  TEST: 'Same test',
  LAST_NAME: 'Same last name',
};

export function likenessText(likeness: Likely['because'][number]): string {
  return LIKENESSES[likeness];
}

/** Returns the strings in a result by which an operator can find its exam, such as the candidate's name. */
export function cluesOf(result: Pick<Unmatched, 'body'>): [term: string, value: string][] {
  const body = objectOf(result.body);
  const meta = objectOf(body['examMetaData']);
  const api = objectOf(body['examApiData']);
  const name = [body['examTakerFirstName'], body['examTakerLastName']].filter(isText).join(' ');
  const clues: [string, unknown][] = [
    ['Exam code', meta['examCode'] || api['examCode']],
    ['Record locator', meta['extRecordLocator']],
    ['Candidate id', body['candidate_id']],
    ['Result id', body['result_id']],
    ['Name', name],
    ['E-mail address', body['examTakerEmail']],
    ['Exam date', body['examDate']],
    ['Result', body['result'] ?? body['reviewStatus']],
  ];
  return clues.filter((clue): clue is [string, string] => isText(clue[1]));
}

function objectOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
