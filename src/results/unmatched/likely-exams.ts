import { Injectable } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { FindOperatorRecords } from '../../eligibility/eligibility.queries.js';
import { ACROSS_ACCOUNTS } from '../../platform/context/caller.js';
import { currentAllowedAccounts } from '../../platform/context/request-context.js';
import { Database, unestimated, prepared } from '../../platform/database/database.js';
import { FindKnownAccounts } from '../../platform/known-accounts.js';
import { isObject } from '../../platform/validation/fields.js';
import { locatorKey, type ResultSource } from '../body/results.rules.js';
import {
  LIKENESSES,
  mostLikely,
  oneCharacterFrom,
  plainId,
  withoutWeakerIds,
  type LikelyExam,
  type Likeness,
} from './likely-exams.rules.js';
import type { LikelyExamModel } from './likely-exams.fields.js';

/**
 * The maximum number of exams that are suggested for each kind of similarity. The number is low, because a name that
 * many people share is a weak clue.
 */
const MOST_OF_ONE = 20;
const MOST = 10;

const ACCOUNTS = `ANY (${unestimated('$1::text[]')}::text[])`;
const CODES = `ANY (${unestimated('$2::text[]')}::text[])`;
const OPEN = `status <> 'CANCELLED'`;
const KNOWN = `account_code = ${ACCOUNTS} AND ${OPEN}`;
// Selects similar eligibilities in the order of the search index, account by account, so that PostgreSQL's planner
// always uses this index.
const like = (likeness: Likeness, value: string, parameter: string, where = '') => `(
  SELECT '${likeness}' AS likeness, svc_eligiblity_id FROM unnest(${unestimated('$1::text[]')}) AS mine (account)
  CROSS JOIN LATERAL (
    SELECT svc_eligiblity_id, status FROM eligibilities
    WHERE account_code = mine.account ${where}
      AND case_folded(${value}) ~>=~ ${unestimated(`case_folded(${parameter}::text)`)}
      AND case_folded(${value}) ~<=~ ${unestimated(`case_folded(${parameter}::text)`)}
    ORDER BY case_folded(${value}) USING ~<~, position LIMIT ${MOST_OF_ONE}) AS hit
  WHERE status <> 'CANCELLED' LIMIT ${MOST_OF_ONE})`;
// Selects eligibilities by the candidate's name. Each word of a name has a search key, which consists of the word and
// all words that follow it.
const named = (likeness: Likeness, parameter: string) => `(
  SELECT '${likeness}' AS likeness, svc_eligiblity_id FROM unnest(${unestimated('$1::text[]')}) AS mine (account)
  CROSS JOIN LATERAL (
    SELECT svc_eligiblity_id FROM eligibility_search_keys
    WHERE account_code = mine.account
      AND key >= ${unestimated(`plain_name(${parameter}::text)`)} COLLATE "C"
      AND key <= ${unestimated(`plain_name(${parameter}::text) || U&' \\+10FFFF'`)} COLLATE "C"
    ORDER BY key LIMIT ${MOST_OF_ONE}) AS hit
  JOIN eligibilities e USING (svc_eligiblity_id)
  WHERE status <> 'CANCELLED' AND plain_name(e.last_name) = plain_name($7) LIMIT ${MOST_OF_ONE})`;

/** The SQL condition that a row belongs to an account of the caller. */
const MINE = `account_code = ${ACCOUNTS}`;
const OF_ONE_SPELLING = [
  `SELECT svc_eligiblity_id FROM eligibilities WHERE svc_eligiblity_id = upper(given) AND ${KNOWN}`,
  `SELECT svc_eligiblity_id FROM bookings WHERE booking_code = upper(given) AND ${MINE}`,
  `SELECT svc_eligiblity_id FROM eligibilities WHERE plain_id(candidate_id) = given AND ${KNOWN}`,
  `SELECT svc_eligiblity_id FROM eligibilities
   WHERE plain_id(client_eligibility_id) = given AND client_eligibility_id IS NOT NULL AND ${KNOWN}`,
  `SELECT svc_eligiblity_id FROM registration_locators WHERE plain_id(locator) = given AND ${MINE}`,
];
/**
 * Selects the records with an id in one of the given spellings. Each spelling is looked up separately in the index,
 * because there may be thousands of spellings.
 */
const spelled = (likeness: Likeness, parameter: string) =>
  OF_ONE_SPELLING.map(
    (select) => `(
      SELECT '${likeness}' AS likeness, svc_eligiblity_id FROM unnest(${unestimated(`${parameter}::text[]`)}) AS spelling (given)
      CROSS JOIN LATERAL (${select} LIMIT ${MOST_OF_ONE}) AS hit LIMIT ${MOST_OF_ONE})`,
  ).join(' UNION ALL ');

/**
 * Finds similar exams. $1: accounts; $2: codes; $3: locator; $4: e-mail; $5: candidate_id; $6: last and first name; $7:
 * last name; $8: ids in plain form; $9: ids that differ from these by one edit. Each part of the query uses an index.
 */
const FIND = prepared(
  'results-likely-exams',
  `SELECT likeness, svc_eligiblity_id FROM (
     SELECT 'SVC_ELIGIBLITY_ID' AS likeness, svc_eligiblity_id FROM eligibilities
     WHERE svc_eligiblity_id = ${CODES} AND ${KNOWN}
     UNION ALL
     SELECT 'BOOKING_CODE', svc_eligiblity_id FROM bookings WHERE booking_code = ${CODES} AND account_code = ${ACCOUNTS}
     UNION ALL
     SELECT 'CLIENT_ELIGIBILITY_ID', svc_eligiblity_id FROM eligibilities WHERE client_eligibility_id = ${CODES} AND ${KNOWN}
     UNION ALL
     SELECT 'RECORD_LOCATOR', svc_eligiblity_id FROM registration_locators
     WHERE account_code = ${ACCOUNTS} AND locator_key = $3
     UNION ALL ${like('EMAIL', 'email', '$4', 'AND email IS NOT NULL')}
     UNION ALL ${like('CANDIDATE_ID', 'candidate_id', '$5')}
     UNION ALL ${named('NAME', '$6')}
     UNION ALL ${named('LAST_NAME', '$7')}
     UNION ALL ${spelled('ID_SPELLING', '$8')}
     UNION ALL ${spelled('ID_ONE_CHARACTER', '$9')}) AS found`,
);

/** The members of an unmatched result that may point to its exam. */
interface Clues {
  codes: string[];
  locator: string | null;
  email: string | null;
  candidateId: string | null;
  firstName: string | null;
  lastName: string | null;
}

interface Unmatched {
  readonly source: ResultSource;
  readonly account_codes: readonly string[];
  readonly received_datetime: Date;
}

/**
 * Finds the exams to which an unmatched result may belong. The exams are only suggestions for an operator: a name never
 * decides to which exam a result belongs.
 */
@Injectable()
export class LikelyExams {
  constructor(
    private readonly database: Database,
    private readonly queryBus: QueryBus,
  ) {}

  async of(unmatched: Unmatched, body: string): Promise<LikelyExamModel[]> {
    const { codes, locator, email, candidateId, firstName, lastName } = cluesOf(unmatched.source, JSON.parse(body));
    const plain = [...codes, locator, candidateId].filter((clue) => clue !== null).map(plainId);
    const found = await this.database.query<{ likeness: Likeness; svc_eligiblity_id: string }>(FIND, [
      await this.accountsOf(unmatched),
      codes,
      locator && locatorKey(locator),
      email,
      candidateId,
      firstName && lastName && `${lastName} ${firstName}`,
      lastName,
      plain,
      [...new Set(plain.flatMap(oneCharacterFrom))],
    ]);
    const likenesses = new Map<string, Set<Likeness>>();
    for (const { likeness, svc_eligiblity_id: id } of found)
      likenesses.set(id, (likenesses.get(id) ?? new Set()).add(likeness));
    const records = await this.queryBus.execute(new FindOperatorRecords([...likenesses.keys()]));
    const exams = records.map((record): LikelyExam & { record: typeof record } => {
      const because = withoutWeakerIds(likenesses.get(record.svc_eligiblity_id)!);
      if (codes.includes(record.test_code)) because.add('TEST');
      return { record, because, bookingOn: record.booking_on === null ? null : new Date(record.booking_on) };
    });
    return mostLikely(exams, unmatched.received_datetime, MOST).map(({ record, because }) => ({
      record,
      because: LIKENESSES.filter((likeness) => because.has(likeness)),
    }));
  }

  /**
   * Returns the accounts that may have the exam, limited to the accounts of the caller. These are the account that the
   * result names or, if it names none, the accounts of the sender.
   */
  private async accountsOf({ account_codes }: Unmatched): Promise<string[]> {
    const allowedAccounts = currentAllowedAccounts();
    if (allowedAccounts !== null) return account_codes.filter((account) => allowedAccounts.includes(account));
    return account_codes.length > 0
      ? [...account_codes]
      : this.queryBus.execute(new FindKnownAccounts(ACROSS_ACCOUNTS));
  }
}

function cluesOf(source: ResultSource, value: unknown): Clues {
  const body = isObject(value) ? value : {};
  if (source === 'ACCOUNT')
    return {
      codes: [],
      locator: null,
      email: null,
      candidateId: textIn(body, 'candidate_id'),
      firstName: null,
      lastName: null,
    };
  const [meta, api] = [body['examMetaData'], body['examApiData']].map((member) => (isObject(member) ? member : {}));
  return {
    codes: [textIn(meta, 'examCode'), textIn(api, 'examCode')].filter((code) => code !== null),
    locator: textIn(meta, 'extRecordLocator'),
    email: textIn(body, 'examTakerEmail'),
    candidateId: null,
    firstName: textIn(body, 'examTakerFirstName'),
    lastName: textIn(body, 'examTakerLastName'),
  };
}

function textIn(object: Record<string, unknown>, name: string): string | null {
  const value = object[name];
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : null;
}
