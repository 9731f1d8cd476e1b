import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { Database } from '../platform/database/database.js';
import { FindDormantCandidates } from './eligibility.queries.js';

const FIND = {
  text: `SELECT candidate_id FROM eligibilities WHERE account_code = $1 AND erased_datetime IS NULL
         GROUP BY candidate_id
         HAVING bool_and(updated_datetime < $2 AND (
           status IN ('COMPLETED', 'ABSENT', 'EXPIRED', 'CANCELLED')
           OR status IN ('PENDING', 'ELIGIBLE') AND eligibility_end_date < $2) IS TRUE)
         LIMIT $3`,
};

@QueryHandler(FindDormantCandidates)
export class FindDormantCandidatesHandler implements IQueryHandler<FindDormantCandidates> {
  constructor(private readonly database: Database) {}

  async execute({ accountCode, since, take }: FindDormantCandidates): Promise<string[]> {
    const rows = await this.database.query<{ candidate_id: string }>(FIND, [accountCode, since, take]);
    return rows.map((row) => row.candidate_id);
  }
}
