import { Injectable } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { currentReach } from '../../platform/context/request-context.js';
import { Database, prepared } from '../../platform/database/database.js';
import type { Fault } from '../../platform/errors.js';
import { assertAccountKnown } from '../../platform/known-accounts.js';
import { assertReaches } from '../../platform/reach.js';
import type { NotificationConditions } from '../delivery/notification-filter.js';

/** Of a deleted one too: what it left may still be named. One out of reach is as unknown as one that never was. */
const ACCOUNT_OF = prepared(
  'filter-subscription-account',
  `SELECT account_code FROM subscriptions
   WHERE id = $1 AND ($2::text[] IS NULL OR account_code = ANY ($2))`,
);

export interface Bounded {
  filter: NotificationConditions;
  /** The one account that it concerns; null when there may be several, or none. */
  accountCode: string | null;
}

/** Keeps a filter on notifications within the accounts of who asks. */
@Injectable()
export class FilterBounds {
  constructor(
    private readonly database: Database,
    private readonly queryBus: QueryBus,
  ) {}

  /**
   * @param where how a fault names the filter's account
   * @throws DomainError `account_forbidden`, `account_not_found`
   */
  async of(filter: NotificationConditions, where: Pick<Fault, 'pointer' | 'parameter'>): Promise<Bounded> {
    const reach = currentReach();
    const { account_code, subscription_id } = filter;
    const subscription =
      subscription_id == null
        ? null
        : await this.database.queryOne<{ account_code: string }>(ACCOUNT_OF, [subscription_id, reach]);
    if (account_code != null) assertReaches(reach, account_code);
    await assertAccountKnown(this.queryBus, account_code, where);
    const accountCode = account_code ?? subscription?.account_code ?? (reach?.length === 1 ? reach[0] : null);
    return { filter: reach === null ? filter : { ...filter, account_codes: reach }, accountCode };
  }
}
