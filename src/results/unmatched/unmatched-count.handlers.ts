import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { acrossAccounts, Database, prepared } from '../../platform/database/database.js';
import {
  CountUnmatched,
  SurveyOverdueUnmatched,
  type OverdueUnmatched,
  type UnmatchedCount,
} from '../results.queries.js';

const COUNT = prepared(
  'unmatched-count',
  `SELECT staff_account_codes AS account_codes, count(*)::int AS count, sum(position)::text AS which
   FROM (
     SELECT staff_account_codes, position FROM unmatched_results
     WHERE accepted_datetime IS NULL AND rejected_datetime IS NULL ORDER BY position DESC LIMIT 10000) waiting
   GROUP BY 1`,
  acrossAccounts.figures,
);

/** Finds unmatched results that have waited too long. $1: the number of minutes that a result may wait. */
const OVERDUE = prepared(
  'unmatched-overdue',
  `SELECT staff_account_codes AS account_codes, count(*)::int AS count, min(received_datetime) AS oldest,
     max(received_datetime) AS newest
   FROM (
     SELECT staff_account_codes, received_datetime FROM unmatched_results
     WHERE accepted_datetime IS NULL AND rejected_datetime IS NULL
       AND received_datetime < statement_timestamp() - make_interval(mins => $1)
     ORDER BY position DESC LIMIT 10000) waiting
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

@QueryHandler(SurveyOverdueUnmatched)
export class SurveyOverdueUnmatchedHandler implements IQueryHandler<SurveyOverdueUnmatched> {
  constructor(private readonly database: Database) {}

  execute({ minutes }: SurveyOverdueUnmatched): Promise<OverdueUnmatched[]> {
    return this.database.query<OverdueUnmatched>(OVERDUE, [minutes]);
  }
}
