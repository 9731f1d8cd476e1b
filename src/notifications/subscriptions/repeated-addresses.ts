import { Injectable } from '@nestjs/common';
import { In, IsNull } from 'typeorm';
import { Database } from '../../platform/database/database.js';
import { spellingOf } from '../partner/partner-address.js';
import { Subscription } from './subscription.entity.js';
import type { SubscriptionWarningModel } from './subscriptions.dto.js';

/** Finds addresses that several subscriptions of an account have, in any spelling. */
@Injectable()
export class RepeatedAddresses {
  constructor(private readonly database: Database) {}

  /**
   * Returns a warning for each subscription whose address another subscription of the account also has, by subscription
   * id.
   */
  async warningsOf(subscriptions: readonly Subscription[]): Promise<ReadonlyMap<string, SubscriptionWarningModel[]>> {
    const accounts = [...new Set(subscriptions.map(({ account_code }) => account_code))];
    const rows = await this.database.manager.find(Subscription, {
      select: { id: true, account_code: true, partner_url: true },
      where: { account_code: In(accounts), deleted_datetime: IsNull() },
    });
    const idsAt = new Map<string, string[]>();
    const idsOf = ({ account_code, partner_url }: Pick<Subscription, 'account_code' | 'partner_url'>): string[] => {
      const key = `${account_code} ${spellingOf(partner_url)}`;
      const ids = idsAt.get(key) ?? [];
      idsAt.set(key, ids);
      return ids;
    };
    for (const row of rows) idsOf(row).push(row.id);
    return new Map(
      subscriptions.map((subscription) => {
        const other = idsOf(subscription).find((id) => id !== subscription.id);
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
