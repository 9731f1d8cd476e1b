import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { FindPortionsInUse, IsEntryInUse } from '../accounts/accounts.queries.js';
import { Database, prepared } from '../platform/database/database.js';
import { LIVE } from './eligibility.fields.js';

// Finds active records that use a catalogue entry. A record whose row has an active status counts as active, even if
// its window is over. An update with a later end date can make such a record active again.
const FIND_USE = {
  accommodation: prepared(
    'eligibility-find-accommodation-use',
    `SELECT 1 FROM eligibilities WHERE account_code = $1 AND ${LIVE} AND $2 = ANY (special_accommodations) LIMIT 1`,
  ),
  'attribute-key': prepared(
    'eligibility-find-attribute-key-use',
    `SELECT 1 FROM eligibilities WHERE account_code = $1 AND ${LIVE}
       AND additional_attributes @> jsonb_build_array(jsonb_build_object('key', $2::text)) LIMIT 1`,
  ),
};

const FIND_PORTIONS_IN_USE = prepared(
  'eligibility-find-portions-in-use',
  `SELECT DISTINCT portion_code
   FROM eligibilities CROSS JOIN unnest(portion_codes) AS portion_code
   WHERE account_code = $1 AND test_code = $2 AND ${LIVE} AND portion_code = ANY ($3::text[])
   ORDER BY portion_code`,
);

@QueryHandler(IsEntryInUse)
export class IsEntryInUseHandler implements IQueryHandler<IsEntryInUse> {
  constructor(private readonly database: Database) {}

  async execute({ kind, accountCode, code }: IsEntryInUse): Promise<boolean> {
    return (await this.database.queryOne(FIND_USE[kind], [accountCode, code])) !== null;
  }
}

@QueryHandler(FindPortionsInUse)
export class FindPortionsInUseHandler implements IQueryHandler<FindPortionsInUse> {
  constructor(private readonly database: Database) {}

  async execute({ accountCode, testCode, portionCodes }: FindPortionsInUse): Promise<string[]> {
    const values = [accountCode, testCode, portionCodes];
    const rows = await this.database.query<{ portion_code: string }>(FIND_PORTIONS_IN_USE, values);
    return rows.map((row) => row.portion_code);
  }
}
