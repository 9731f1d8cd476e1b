import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { acrossAccounts, Database, prepared } from '../../platform/database/database.js';
import { CountUnmatched, type UnmatchedCount } from '../results.queries.js';

const COUNT = prepared(
  'unmatched-count',
  `SELECT staff_account_codes AS account_codes, count(*)::int AS count, sum(position)::text AS which
   FROM (
     SELECT staff_account_codes, position FROM unmatched_results
     WHERE accepted_datetime IS NULL AND rejected_datetime IS NULL ORDER BY position DESC LIMIT 10000) waiting
   GROUP BY 1`,
  acrossAccounts.figures,
);

@QueryHandler(CountUnmatched)
export class CountUnmatchedHandler implements IQueryHandler<CountUnmatched> {
  constructor(private readonly database: Database) {}

  execute(): Promise<UnmatchedCount[]> {
    return this.database.query<UnmatchedCount>(COUNT);
  }
}
