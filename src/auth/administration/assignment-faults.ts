import { Injectable } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import type { Fault } from '../../platform/errors.js';
import { FindKnownAccounts } from '../../platform/known-accounts.js';
import { FindKnownSubscriptions } from '../../platform/known-subscriptions.js';
import type { Faults } from '../../platform/validation/faults.js';
import { fault } from '../../platform/validation/rules.js';
import type { Assignments } from '../auth.commands.js';

/** Checks the accounts and subscriptions that a request gives to a user or to an application. */
@Injectable()
export class AssignmentFaults {
  constructor(private readonly queryBus: QueryBus) {}

  /**
   * Adds a fault for each unknown account and subscription. Entries that already have a fault are skipped.
   * @param held the subscriptions that the user or application has. They are accepted even if they were deleted in the
   * meantime, so that a client can send back the response to a GET request unchanged.
   */
  async addTo(
    faults: Faults,
    { accountCodes = [], subscriptionIds = [] }: Assignments,
    held: readonly string[] = [],
  ): Promise<void> {
    faults.add(...(await this.unknownAccounts(accountCodes, faults)));
    faults.add(...(await this.unknownSubscriptions(subscriptionIds, held, faults)));
  }

  private async unknownAccounts(accountCodes: readonly string[], faults: Faults): Promise<Fault[]> {
    if (accountCodes.length === 0) return [];
    const asked = faults.entries('/account_codes', accountCodes);
    const codes = asked.filter((code) => code !== undefined);
    const known = new Set(await this.queryBus.execute(new FindKnownAccounts(codes)));
    return asked.flatMap((code, index) =>
      code === undefined || known.has(code)
        ? []
        : [fault('account_not_found', 'No account has this code.', `/account_codes/${index}`)],
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
