import { QueryBus, QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { FindKnownAccounts } from '../platform/known-accounts.js';
import { ACROSS_ACCOUNTS } from '../platform/context/caller.js';
import { Clock } from '../platform/clock.js';
import { Database, unestimated, prepared } from '../platform/database/database.js';
import { presentEligibility } from './eligibility-record.js';
import type { Eligibility } from './eligibility.entity.js';
import { SearchEligibilities } from './eligibility.queries.js';
import type { FoundEligibilityModel } from './search.fields.js';

// Searches by one member. The search scans the member's index, account by account, until the page is full.
const beginsWith = (rank: number, value: string, where = '') => `
  SELECT ${rank} AS rank, value, position, svc_eligiblity_id FROM unnest(${unestimated('$1::text[]')}) AS mine (account)
  CROSS JOIN LATERAL (
    SELECT case_folded(${value}) AS value, position, svc_eligiblity_id FROM eligibilities
    WHERE account_code = mine.account ${where}
      AND case_folded(${value}) ~>=~ ${unestimated('case_folded($2::text)')}
      AND case_folded(${value}) ~<=~ ${unestimated(`case_folded($2::text) || U&'\\+10FFFF'`)}
    ORDER BY case_folded(${value}) USING ~<~, position LIMIT ${unestimated('$4::bigint')}) AS hit`;

const SEARCH = prepared(
  'eligibility-search',
  `WITH hits AS (
     SELECT 0 AS rank, '' AS value, given.position, svc_eligiblity_id
     FROM unnest(${unestimated('$3::text[]')}) WITH ORDINALITY AS given (svc_eligiblity_id, position)
     JOIN eligibilities USING (svc_eligiblity_id)
     WHERE account_code = ANY (${unestimated('$1::text[]')}::text[])
     UNION ALL (${beginsWith(1, 'candidate_id')})
     UNION ALL (${beginsWith(2, 'last_name')})
     UNION ALL (${beginsWith(3, `first_name || ' ' || last_name`)})
     UNION ALL (${beginsWith(4, 'email', 'AND email IS NOT NULL')})
     UNION ALL (${beginsWith(5, 'client_eligibility_id', 'AND client_eligibility_id IS NOT NULL')})
     UNION ALL (
       SELECT 6, svc_eligiblity_id, position, svc_eligiblity_id FROM eligibilities
       WHERE svc_eligiblity_id BETWEEN ${unestimated('upper($2::text)')} AND ${unestimated(`upper($2::text) || 'ZZZZZZZZ'`)}
         AND account_code = ANY (${unestimated('$1::text[]')}::text[])
       ORDER BY svc_eligiblity_id LIMIT ${unestimated('$4::bigint')})),
   best AS (SELECT DISTINCT ON (svc_eligiblity_id) * FROM hits ORDER BY svc_eligiblity_id, rank)
   SELECT e.* FROM (
     SELECT * FROM best ORDER BY rank, value USING ~<~, position OFFSET $5 LIMIT $6) AS page
   JOIN eligibilities e USING (svc_eligiblity_id)
   ORDER BY page.rank, page.value USING ~<~, page.position`,
);

@QueryHandler(SearchEligibilities)
export class SearchEligibilitiesHandler implements IQueryHandler<SearchEligibilities> {
  constructor(
    private readonly database: Database,
    private readonly queryBus: QueryBus,
    private readonly clock: Clock,
  ) {}

  async execute({ accountCodes, prefix, ids, skip, take }: SearchEligibilities): Promise<FoundEligibilityModel[]> {
    const accounts = accountCodes ?? (await this.queryBus.execute(new FindKnownAccounts(ACROSS_ACCOUNTS)));
    const values = [accounts, prefix, ids, skip + take, skip, take];
    const now = this.clock.now();
    return (await this.database.query<Eligibility>(SEARCH, values)).map((record) => ({
      account_code: record.account_code,
      ...presentEligibility(record, now),
    }));
  }
}
