import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { Clock } from '../platform/clock.js';
import { Database, prepared } from '../platform/database/database.js';
import { afterCursor } from '../platform/http/paging.js';
import { presentEligibility } from './eligibility-record.js';
import type { Eligibility } from './eligibility.entity.js';
import { FindKnownRecords, ReadEligibilities, type ExportedEligibility } from './eligibility.queries.js';

const READ = prepared(
  'eligibility-read-stretch',
  `SELECT * FROM eligibilities WHERE account_code = $1 AND ${afterCursor('$2')} ORDER BY position DESC LIMIT $3`,
);
const KNOWN = prepared(
  'eligibility-known-records',
  'SELECT svc_eligiblity_id FROM eligibilities WHERE svc_eligiblity_id = ANY ($2) AND account_code = $1',
);

@QueryHandler(FindKnownRecords)
export class FindKnownRecordsHandler implements IQueryHandler<FindKnownRecords> {
  constructor(private readonly database: Database) {}

  async execute({ accountCode, svcEligibilityIds }: FindKnownRecords): Promise<string[]> {
    const rows = await this.database.query<{ svc_eligiblity_id: string }>(KNOWN, [accountCode, svcEligibilityIds]);
    return rows.map(({ svc_eligiblity_id }) => svc_eligiblity_id);
  }
}

@QueryHandler(ReadEligibilities)
export class ReadEligibilitiesHandler implements IQueryHandler<ReadEligibilities> {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  async execute({ accountCode, before, take }: ReadEligibilities): Promise<ExportedEligibility[]> {
    const records = await this.database.query<Eligibility>(READ, [accountCode, before, take]);
    const now = this.clock.now();
    return records.map((record) => ({
      position: record.position,
      registration_mode: record.registration_mode,
      model: presentEligibility(record, now),
    }));
  }
}
