import { Injectable } from '@nestjs/common';
import { In, IsNull } from 'typeorm';
import { Database } from '../../platform/database/database.js';
import { parsePartnerUrl } from '../partner/partner-address.js';
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
    const at = new Map<string, string[]>();
    for (const row of rows) {
      const ids = at.get(keyOf(row)) ?? [];
      at.set(keyOf(row), ids);
      ids.push(row.id);
    }
    return new Map(
      subscriptions.map((subscription) => {
        const other = at.get(keyOf(subscription))?.find((id) => id !== subscription.id);
        return [subscription.id, other === undefined ? [] : [warning(other)]];
      }),
    );
  }
}

/**
 * An address is normally valid, because it was checked when it was saved. An invalid one was written by other means,
 * and is compared as text.
 */
function keyOf({ account_code, partner_url }: Pick<Subscription, 'account_code' | 'partner_url'>): string {
  try {
    return `${account_code} ${parsePartnerUrl(partner_url).href}`;
  } catch {
    return `${account_code} ${partner_url}`;
  }
}

function warning(other: string): SubscriptionWarningModel {
  return {
    pointer: '/partner_url',
    code: 'address_repeated',
    detail: `Subscription ${other} of this account has the same address. An event that both subscriptions ask for is sent to this address twice.`,
  };
}
