import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { Database } from '../platform/database/database.js';
import { OPEN } from './eligibility.fields.js';
import { FindDormantCandidates } from './eligibility.queries.js';

/**
 * The maximum number of eligibility records that one statement reads. It exceeds the number of records that a candidate
 * may have.
 */
const STRETCH = 5_000;

const FIND = {
  text: `WITH stretch AS MATERIALIZED (
           SELECT candidate_id, erased_datetime IS NULL AND updated_datetime < $2 AND (
             status IN ('COMPLETED', 'ABSENT', 'EXPIRED', 'CANCELLED')
             OR ${OPEN} AND eligibility_end_date < $2) IS TRUE AS is_dormant
           FROM eligibilities WHERE account_code = $1 AND candidate_id > $3 ORDER BY candidate_id LIMIT ${STRETCH})
         SELECT candidate_id, bool_and(is_dormant) AS is_dormant, count(*) AS records
         FROM stretch GROUP BY candidate_id ORDER BY candidate_id`,
};

interface Looked {
  candidate_id: string;
  is_dormant: boolean;
  records: number;
}

@QueryHandler(FindDormantCandidates)
export class FindDormantCandidatesHandler implements IQueryHandler<FindDormantCandidates> {
  constructor(private readonly database: Database) {}

  async execute({ accountCode, since, after }: FindDormantCandidates) {
    const looked = await this.database.query<Looked>(FIND, [accountCode, since, after]);
    const isFull = looked.reduce((sum, { records }) => sum + records, 0) === STRETCH;
    // If the batch is full, its last candidate is left to the next batch, because that candidate may have more records
    // than the batch contains.
    const whole = isFull ? looked.slice(0, -1) : looked;
    return {
      candidateIds: whole.filter(({ is_dormant }) => is_dormant).map(({ candidate_id }) => candidate_id),
      next: isFull ? (whole.at(-1)?.candidate_id ?? null) : null,
    };
  }
}
