import { Injectable } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { Database, prepared } from '../../platform/database/database.js';
import type { Fault } from '../../platform/errors.js';
import { FindKnownSubscriptions } from '../../platform/known-subscriptions.js';
import type { Faults } from '../../platform/validation/faults.js';
import { fault } from '../../platform/validation/rules.js';

const UNKNOWN_ACCOUNTS = prepared(
  'reach-unknown-accounts',
  `SELECT code FROM unnest($1::text[]) AS code WHERE NOT EXISTS (SELECT 1 FROM accounts WHERE account_code = code)`,
);

/** The accounts and subscriptions that a user or an application is given. */
interface Reach {
  readonly accountCodes?: readonly string[];
  readonly subscriptionIds?: readonly string[];
}

/** Checks the accounts and subscriptions that a request gives to a user or to an application. */
@Injectable()
export class ReachFaults {
  constructor(
    private readonly database: Database,
    private readonly queryBus: QueryBus,
  ) {}

  /**
   * Adds a fault for each unknown account and subscription. Entries that already have a fault are skipped.
   * @param held the subscriptions that the user or application has. They may have been deleted meanwhile, and what a
   * GET returned can be sent again.
   */
  async addTo(
    faults: Faults,
    { accountCodes = [], subscriptionIds = [] }: Reach,
    held: readonly string[] = [],
  ): Promise<void> {
    faults.add(...(await this.unknownAccounts(accountCodes, faults)));
    faults.add(...(await this.unknownSubscriptions(subscriptionIds, held, faults)));
  }

  private async unknownAccounts(accountCodes: readonly string[], faults: Faults): Promise<Fault[]> {
    if (accountCodes.length === 0) return [];
    const asked = faults.entries('/account_codes', accountCodes);
    const rows = await this.database.query<{ code: string }>(UNKNOWN_ACCOUNTS, [
      asked.filter((code) => code !== undefined),
    ]);
    const unknown = new Set(rows.map((row) => row.code));
    return asked.flatMap((code, index) =>
      code !== undefined && unknown.has(code)
        ? [fault('account_not_found', 'No account has this code.', `/account_codes/${index}`)]
        : [],
    );
  }

  private async unknownSubscriptions(
    subscriptionIds: readonly string[],
    held: readonly string[],
    faults: Faults,
  ): Promise<Fault[]> {
    const asked = faults
      .entries('/subscription_ids', subscriptionIds)
      .map((id) => (id === undefined || held.includes(id) ? undefined : id));
    const ids = asked.filter((id) => id !== undefined);
    if (ids.length === 0) return [];
    const known = new Set((await this.queryBus.execute(new FindKnownSubscriptions(ids))).map(({ id }) => id));
    return asked.flatMap((id, index) =>
      id === undefined || known.has(id)
        ? []
        : [fault('subscription_not_found', 'No subscription has this id.', `/subscription_ids/${index}`)],
    );
  }
}
