import { Injectable } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { currentAllowedAccounts, currentAllowedSubscriptions } from '../../platform/context/request-context.js';
import { Database, prepared } from '../../platform/database/database.js';
import { notFound, type Fault } from '../../platform/errors.js';
import { assertAccountKnown } from '../../platform/known-accounts.js';
import { assertMayUse } from '../../platform/account-access.js';
import type { NotificationConditions } from '../delivery/notification-filter.js';

/**
 * Finds the account of a subscription. Deleted subscriptions are included, because their notifications can still be
 * filtered. A subscription of another account is treated like an unknown subscription.
 */
const ACCOUNT_OF = prepared(
  'filter-subscription-account',
  `SELECT account_code FROM subscriptions
   WHERE id = $1 AND ($2::text[] IS NULL OR account_code = ANY ($2))`,
);

export interface Bounded {
  filter: NotificationConditions;
  /** The account to which the filter is limited; null if the filter covers several accounts or none. */
  accountCode: string | null;
}

/**
 * Limits a filter on notifications to the caller's accounts. On the routes for partners, limits the filter to the
 * caller's subscriptions.
 */
@Injectable()
export class FilterBounds {
  constructor(
    private readonly database: Database,
    private readonly queryBus: QueryBus,
  ) {}

  /**
   * Returns the filter, limited to the notifications that the caller may see.
   * @param where the JSON pointer or the query parameter to which an error about the filter's account refers
   * @throws DomainError `account_forbidden`, `account_not_found`; `not_found` for a subscription of another partner
   */
  async of(filter: NotificationConditions, where: Pick<Fault, 'pointer' | 'parameter'>): Promise<Bounded> {
    const allowedAccounts = currentAllowedAccounts();
    const allowedSubscriptions = currentAllowedSubscriptions();
    const { account_code, subscription_id } = filter;
    if (account_code != null) assertMayUse(allowedAccounts, account_code);
    if (subscription_id != null && allowedSubscriptions?.includes(subscription_id) === false)
      throw notFound.error({ detail: 'There is no such subscription.' });
    const subscription =
      subscription_id == null
        ? null
        : await this.database.queryOne<{ account_code: string }>(ACCOUNT_OF, [subscription_id, allowedAccounts]);
    await assertAccountKnown(this.queryBus, account_code, where);
    const accountCode =
      account_code ?? subscription?.account_code ?? (allowedAccounts?.length === 1 ? allowedAccounts[0] : null);
    return {
      filter: {
        ...filter,
        ...(allowedAccounts !== null && { account_codes: allowedAccounts }),
        ...(allowedSubscriptions !== null && { subscription_ids: allowedSubscriptions }),
      },
      accountCode,
    };
  }
}
