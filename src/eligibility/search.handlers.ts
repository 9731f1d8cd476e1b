import { QueryBus, QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { FindKnownAccounts } from '../platform/known-accounts.js';
import { ACROSS_ACCOUNTS } from '../platform/context/caller.js';
import { Clock } from '../platform/clock.js';
import { Database, unestimated, prepared } from '../platform/database/database.js';
import { presentEligibility } from './eligibility-record.js';
import type { Eligibility } from './eligibility.entity.js';
import { SearchEligibilities } from './eligibility.queries.js';
import type { FoundEligibilityModel } from './search.fields.js';

// Searches records by one column. The search scans the index of the column, account by account, until the page is full.
const beginsWith = (rank: number, value: string, where = '') => `
  SELECT ${rank} AS rank, value, position, svc_eligiblity_id FROM unnest(${unestimated('$1::text[]')}) AS mine (account)
  CROSS JOIN LATERAL (
    SELECT case_folded(${value}) AS value, position, svc_eligiblity_id FROM eligibilities
    WHERE account_code = mine.account ${where}
      AND case_folded(${value}) ~>=~ ${unestimated('case_folded($2::text)')}
      AND case_folded(${value}) ~<=~ ${unestimated(`case_folded($2::text) || U&'\\+10FFFF'`)}
    ORDER BY case_folded(${value}) USING ~<~, position LIMIT ${unestimated('$4::bigint')}) AS hit`;

/** The maximum number of words of a name for which search keys are stored. The migrations define this number. */
const MOST_WORDS = 8;
/**
 * The searched text in the form in which names are compared. Its words are in lower case, without accents and
 * punctuation. Phone numbers and postal codes are searched only if the text may be a phone number or a postal code.
 */
const ASKED = `
  SELECT name, words, pattern, ARRAY(
      SELECT DISTINCT key FROM (VALUES
        (name),
        (replace(name, ' ', '')),
        (CASE WHEN given ~ '^[-+()./ 0-9]+$' AND length(phone_key(given)) > 4 THEN phone_key(given) END),
        (CASE WHEN given ~ '[0-9]' AND length(plain_id(given)) > 2 THEN '@' || plain_id(given) END)) AS keys (key)
      WHERE key <> '') AS beginnings
  FROM (SELECT ${unestimated('$2::text')} AS given, plain_name(${unestimated('$2::text')}) AS name) AS text
  CROSS JOIN LATERAL (SELECT string_to_array(name, ' ') AS words) AS split
  CROSS JOIN LATERAL (SELECT ARRAY(SELECT '% ' || word || '%' FROM unnest(words) AS word) AS pattern) AS patterns`;
const beginsAt = (key: string) => `key >= ${key} COLLATE "C" AND key <= (${key} || U&'\\+10FFFF') COLLATE "C"`;
// The page of search keys is longer than the page of records, because several keys of a record may match. A record has
// a key for each stored word of its name, and one for its last name.
const PAGE_OF_KEYS = `LIMIT ${1 + MOST_WORDS} * ${unestimated('$4::bigint')}`;
/**
 * The SQL that finds search keys that begin with the searched text. The search scans the index of the keys until the
 * page is full.
 */
const BEGINNINGS = `
  SELECT 2 AS rank, key COLLATE "default" AS value, 0::bigint AS position, svc_eligiblity_id
  FROM asked CROSS JOIN LATERAL unnest(beginnings) AS beginning
  CROSS JOIN LATERAL unnest(${unestimated('$1::text[]')}) AS mine (account)
  CROSS JOIN LATERAL (
    SELECT key, svc_eligiblity_id FROM eligibility_search_keys
    WHERE account_code = mine.account AND ${beginsAt('beginning')}
    ORDER BY key, svc_eligiblity_id ${PAGE_OF_KEYS}) AS hit`;
/** The number of search keys at which a word of a name counts as frequent. Counting stops at this number. */
const FREQUENT = 500;
/**
 * The SQL that finds names that contain every searched word, in any order. The search scans the search keys that begin
 * with the rarest word, and checks the other words in the index.
 */
const WORDS = `
  SELECT 3 AS rank, key COLLATE "default" AS value, 0::bigint AS position, svc_eligiblity_id
  FROM asked CROSS JOIN LATERAL unnest(${unestimated('$1::text[]')}) AS mine (account)
  CROSS JOIN LATERAL (
    SELECT word FROM unnest(words) AS word CROSS JOIN LATERAL (
      SELECT count(*) AS frequency FROM (
        SELECT FROM eligibility_search_keys WHERE account_code = mine.account AND ${beginsAt('word')}
        LIMIT ${FREQUENT}) AS keys) AS counted
    ORDER BY frequency, length(word) DESC LIMIT 1) AS rarest
  CROSS JOIN LATERAL (
    SELECT key, svc_eligiblity_id FROM eligibility_search_keys
    WHERE account_code = mine.account AND ${beginsAt('rarest.word')} AND (' ' || key) COLLATE "C" LIKE ALL (pattern)
    ORDER BY key, svc_eligiblity_id ${PAGE_OF_KEYS}) AS hit
  WHERE cardinality(words) > 1`;

const SEARCH = prepared(
  'eligibility-search',
  `WITH asked AS MATERIALIZED (${ASKED}),
   hits AS (
     SELECT 0 AS rank, '' AS value, given.position, svc_eligiblity_id
     FROM unnest(${unestimated('$3::text[]')}) WITH ORDINALITY AS given (svc_eligiblity_id, position)
     JOIN eligibilities USING (svc_eligiblity_id)
     WHERE account_code = ANY (${unestimated('$1::text[]')}::text[])
     UNION ALL (${beginsWith(1, 'candidate_id')})
     UNION ALL (${BEGINNINGS})
     UNION ALL (${WORDS})
     UNION ALL (${beginsWith(4, 'email', 'AND email IS NOT NULL')})
     UNION ALL (${beginsWith(5, 'client_eligibility_id', 'AND client_eligibility_id IS NOT NULL')})
     UNION ALL (
       SELECT 6, svc_eligiblity_id, position, svc_eligiblity_id FROM eligibilities
       WHERE svc_eligiblity_id BETWEEN ${unestimated('upper($2::text)')} AND ${unestimated(`upper($2::text) || 'ZZZZZZZZ'`)}
         AND account_code = ANY (${unestimated('$1::text[]')}::text[])
       ORDER BY svc_eligiblity_id LIMIT ${unestimated('$4::bigint')})),
   best AS (SELECT DISTINCT ON (svc_eligiblity_id) * FROM hits ORDER BY svc_eligiblity_id, rank, value USING ~<~)
   SELECT e.* FROM (
     SELECT * FROM best ORDER BY rank, value USING ~<~, position, svc_eligiblity_id OFFSET $5 LIMIT $6) AS page
   JOIN eligibilities e USING (svc_eligiblity_id)
   ORDER BY page.rank, page.value USING ~<~, page.position, page.svc_eligiblity_id`,
);

@QueryHandler(SearchEligibilities)
export class SearchEligibilitiesHandler implements IQueryHandler<SearchEligibilities> {
  constructor(
    private readonly database: Database,
    private readonly queryBus: QueryBus,
    private readonly clock: Clock,
  ) {}

  async execute({ accountCodes, text, ids, skip, take }: SearchEligibilities): Promise<FoundEligibilityModel[]> {
    const accounts = accountCodes ?? (await this.queryBus.execute(new FindKnownAccounts(ACROSS_ACCOUNTS)));
    const values = [accounts, text, ids, skip + take, skip, take];
    const now = this.clock.now();
    return (await this.database.query<Eligibility>(SEARCH, values)).map((record) => ({
      account_code: record.account_code,
      ...presentEligibility(record, now),
    }));
  }
}
