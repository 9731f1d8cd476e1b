import { Injectable } from '@nestjs/common';
import { In, IsNull, type FindOptionsWhere } from 'typeorm';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { currentAllowedAccounts, currentAllowedSubscriptions } from '../../platform/context/request-context.js';
import type { AllowedAccounts } from '../../platform/context/caller.js';
import { newestFirst, type Page } from '../../platform/http/paging.js';
import { UnitOfWork } from '../../platform/unit-of-work/unit-of-work.js';
import { notFound, type Fault } from '../../platform/errors.js';
import { isUuid } from '../../platform/validation/identifiers.js';
import { fault } from '../../platform/validation/rules.js';
import { DeliverySignals } from '../delivery-signals.js';
import { RacePoints } from '../race-points.js';
import {
  AddressBlockedError,
  dialledHost,
  parsePartnerUrl,
  parseTokenUrl,
  PartnerAddressGuard,
} from '../partner/partner-address.js';
import { systemLookup } from '../partner/partner-names.js';
import { Subscription } from './subscription.entity.js';

/**
 * The time limit, in milliseconds, for resolving a host name when an address is saved. It is short, so that an operator
 * does not wait for a silent name server. Every connection checks the name again.
 */
const LOOKUP_MS = 2_000;

@Injectable()
export class SubscriptionStore {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
    private readonly guard: PartnerAddressGuard,
    private readonly signals: DeliverySignals,
    private readonly races: RacePoints,
  ) {}

  /**
   * Returns a page of the subscriptions of these accounts (null: of all accounts), newest first. On a route for the
   * `partner` scope, the page contains only the caller's own subscriptions.
   */
  list(accounts: AllowedAccounts, page: Page): Promise<Subscription[]> {
    const ofAccounts = accounts === null ? {} : { account_code: In([...accounts]) };
    const subscriptions = currentAllowedSubscriptions();
    const ofCaller = subscriptions === null ? {} : { id: In([...subscriptions]) };
    const where = { ...ofAccounts, ...ofCaller, deleted_datetime: IsNull() };
    return this.database.manager.find(Subscription, newestFirst(page, where));
  }

  /**
   * Returns a subscription in the caller's accounts. On a route for the `partner` scope, a subscription that is not the
   * caller's own is treated as unknown.
   * @throws DomainError `not_found`
   */
  async get(id: string): Promise<Subscription> {
    return known(isInReach(id) ? await this.database.manager.findOneBy(Subscription, inReach(id)) : null);
  }

  /**
   * Changes a subscription in one transaction: locks it, applies `apply`, saves it, and writes the audit entry
   * `subscription.{action}`. After the commit, no delivery loop uses the old settings.
   * @throws DomainError `not_found`
   */
  change(id: string, action: string, apply: (subscription: Subscription) => void): Promise<Subscription> {
    return this.unitOfWork.run(async () => {
      const subscription = await this.lock(id);
      const { state } = subscription;
      apply(subscription);
      subscription.updated_datetime = this.clock.now();
      await this.database.manager.save(subscription);
      this.signals.changed(id, state === 'UNVERIFIED' && subscription.state !== 'UNVERIFIED');
      this.unitOfWork.audit(`subscription.${action}`, id, { accountCode: subscription.account_code });
      await this.races.reached('changing subscription');
      return subscription;
    });
  }

  private async lock(id: string): Promise<Subscription> {
    const found = isInReach(id)
      ? await this.database.manager.findOne(Subscription, {
          where: inReach(id),
          lock: { mode: 'pessimistic_write' },
        })
      : null;
    return known(found);
  }

  /**
   * Checks the addresses of the partner and of the token endpoint. Returns a validation error for each address that is
   * not allowed. Host names are resolved.
   */
  async addressFaults(partnerUrl: string | null | undefined, tokenUrl: string | undefined): Promise<Fault[]> {
    const faults = await Promise.all([
      partnerUrl == null ? null : this.addressFault(parsePartnerUrl(partnerUrl), '/partner_url'),
      tokenUrl === undefined ? null : this.addressFault(parseTokenUrl(tokenUrl), '/auth/token_url'),
    ]);
    return faults.filter((found) => found !== null);
  }

  /** Returns a validation error if the address of the URL is not allowed. A host name is resolved. */
  async addressFault(url: URL, pointer: string): Promise<Fault | null> {
    const host = dialledHost(url);
    try {
      await this.guard.resolveAllowed(host, systemLookup, AbortSignal.timeout(LOOKUP_MS));
    } catch (error) {
      if (error instanceof AddressBlockedError)
        return fault(
          'address_blocked',
          'The address is not public, and its network is not listed in PARTNER_ALLOWED_NETWORKS.',
          pointer,
        );
    }
    // A host name that cannot be resolved may be saved, because every connection checks it again.
    return null;
  }
}

/** Returns whether the caller may use the subscription with this id, if it exists in the caller's accounts. */
function isInReach(id: string): boolean {
  return isUuid(id) && (currentAllowedSubscriptions()?.includes(id) ?? true);
}

/** Returns the query condition for a subscription that is not deleted and belongs to the caller's accounts. */
function inReach(id: string): FindOptionsWhere<Subscription> {
  const allowedAccounts = currentAllowedAccounts();
  return {
    id,
    deleted_datetime: IsNull(),
    ...(allowedAccounts !== null && { account_code: In([...allowedAccounts]) }),
  };
}

/**
 * Returns the subscription that a query has found, and throws if it has found none.
 * @throws DomainError `not_found`
 */
function known(found: Subscription | null): Subscription {
  if (found === null) throw notFound.error({ detail: 'There is no such subscription.' });
  return found;
}
