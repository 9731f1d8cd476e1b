import { QueryHandler, type IQueryHandler } from '@nestjs/cqrs';
import { acrossAccounts, Database, prepared } from '../../platform/database/database.js';
import { FindKnownSubscriptions, type KnownSubscription } from '../../platform/known-subscriptions.js';

const FIND_KNOWN = prepared(
  'subscriptions-find-known',
  `SELECT id, account_code FROM subscriptions WHERE id = ANY ($1::uuid[]) AND deleted_datetime IS NULL`,
  acrossAccounts.keyInHand,
);

@QueryHandler(FindKnownSubscriptions)
export class FindKnownSubscriptionsHandler implements IQueryHandler<FindKnownSubscriptions> {
  constructor(private readonly database: Database) {}

  async execute({ ids }: FindKnownSubscriptions): Promise<KnownSubscription[]> {
    return ids.length === 0 ? [] : this.database.query<KnownSubscription>(FIND_KNOWN, [ids]);
  }
}
