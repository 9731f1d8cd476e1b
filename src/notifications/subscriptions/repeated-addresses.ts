import { Injectable } from '@nestjs/common';
import { currentAllowedSubscriptions } from '../../platform/context/request-context.js';
import { Database, prepared } from '../../platform/database/database.js';
import { spellingOf } from '../partner/partner-address.js';
import type { Subscription } from './subscription.entity.js';
import type { SubscriptionWarningModel } from './subscriptions.dto.js';

type Addressed = Pick<Subscription, 'id' | 'account_code' | 'partner_url'>;

/**
 * Finds the addresses of the accounts' subscriptions that push. The query is plain SQL, because an account may have
 * thousands of subscriptions, and building entities would take most of the time.
 */
const FIND = prepared(
  'subscriptions-of-accounts',
  `SELECT id, account_code, partner_url FROM subscriptions
   WHERE account_code = ANY ($1::text[]) AND deleted_datetime IS NULL AND delivery = 'PUSH'`,
);

/** Finds addresses that several subscriptions of an account share, even in different spellings. */
@Injectable()
export class RepeatedAddresses {
  constructor(private readonly database: Database) {}

  /**
   * Returns, by subscription id, a warning for each subscription that has the same address as another subscription of
   * the account. The warnings for a partner do not reveal the subscriptions of other partners.
   */
  async warningsOf(subscriptions: readonly Subscription[]): Promise<ReadonlyMap<string, SubscriptionWarningModel[]>> {
    const accounts = [...new Set(subscriptions.map(({ account_code }) => account_code))];
    const rows = await this.database.query<Addressed>(FIND, [accounts]);
    const idsAt = new Map<string, string[]>();
    const idsOf = ({ account_code, partner_url }: Addressed): string[] => {
      const key = `${account_code} ${spellingOf(partner_url)}`;
      const ids = idsAt.get(key) ?? [];
      idsAt.set(key, ids);
      return ids;
    };
    const allowed = currentAllowedSubscriptions();
    for (const row of rows) if (allowed?.includes(row.id) ?? true) idsOf(row).push(row.id);
    return new Map(
      subscriptions.map((subscription) => {
        const others = subscription.delivery === 'PUSH' ? idsOf(subscription) : [];
        const other = others.find((id) => id !== subscription.id);
        return [subscription.id, other === undefined ? [] : [warning(other)]];
      }),
    );
  }
}

function warning(other: string): SubscriptionWarningModel {
  return {
    pointer: '/partner_url',
    code: 'address_repeated',
    detail: `Subscription ${other} of this account has the same address. An event that both subscriptions ask for is sent to this address twice.`,
  };
}
