import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { acrossAccounts, Database } from '../platform/database/database.js';
import { FindExpiringDays, FindRetentionRules, type ExpiringDays, type RetentionRule } from './accounts.queries.js';

@QueryHandler(FindRetentionRules)
export class FindRetentionRulesHandler implements IQueryHandler<FindRetentionRules> {
  constructor(private readonly database: Database) {}

  execute(): Promise<RetentionRule[]> {
    return this.database.query({
      text: `SELECT account_code, photo_retention_days, video_retention_days, candidate_retention_days FROM accounts
             WHERE coalesce(photo_retention_days, video_retention_days, candidate_retention_days) IS NOT NULL`,
      across: acrossAccounts.sweep,
    });
  }
}

@QueryHandler(FindExpiringDays)
export class FindExpiringDaysHandler implements IQueryHandler<FindExpiringDays> {
  constructor(private readonly database: Database) {}

  execute(): Promise<ExpiringDays[]> {
    return this.database.query({
      text: `SELECT account_code, expiring_days FROM accounts WHERE expiring_days <> '{}'`,
      across: acrossAccounts.sweep,
    });
  }
}
