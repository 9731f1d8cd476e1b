import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { Database, prepared } from '../platform/database/database.js';
import { FindAccommodationNames, FindAttributeKeys, type AccommodationKey } from './accounts.queries.js';

const ACCOMMODATION_NAMES = prepared(
  'accommodations-names',
  `SELECT account_code, accommodation_code, name
   FROM unnest($1::text[], $2::text[]) AS asked (account_code, accommodation_code)
   JOIN accommodations USING (account_code, accommodation_code)`,
);

@QueryHandler(FindAttributeKeys)
export class FindAttributeKeysHandler implements IQueryHandler<FindAttributeKeys> {
  constructor(private readonly database: Database) {}

  async execute({ accountCode }: FindAttributeKeys): Promise<string[]> {
    const rows = await this.database.query<{ attribute_key: string }>(
      { text: 'SELECT attribute_key FROM attribute_keys WHERE account_code = $1 ORDER BY attribute_key' },
      [accountCode],
    );
    return rows.map((row) => row.attribute_key);
  }
}

@QueryHandler(FindAccommodationNames)
export class FindAccommodationNamesHandler implements IQueryHandler<FindAccommodationNames> {
  constructor(private readonly database: Database) {}

  async execute({ keys }: FindAccommodationNames): Promise<(AccommodationKey & { name: string })[]> {
    if (keys.length === 0) return [];
    return this.database.query(ACCOMMODATION_NAMES, [
      keys.map(({ account_code }) => account_code),
      keys.map(({ accommodation_code }) => accommodation_code),
    ]);
  }
}
