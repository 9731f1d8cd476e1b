import { Injectable } from '@nestjs/common';
import { In, IsNull, type FindOptionsWhere } from 'typeorm';
import { Clock } from '../../platform/clock.js';
import { Database } from '../../platform/database/database.js';
import { currentReach } from '../../platform/context/request-context.js';
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

/** A silent name server must not keep an operator waiting: every connection checks the name again anyway. */
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

  /** @throws DomainError `not_found` */
  async get(id: string): Promise<Subscription> {
    return known(isUuid(id) ? await this.database.manager.findOneBy(Subscription, inReach(id)) : null);
  }

  /**
   * Changes a subscription in one transaction: it is locked, changed by `apply`, saved and audited as
   * `subscription.{action}`. No delivery loop uses its old settings afterwards.
   * @throws DomainError `not_found`
   */
  change(id: string, action: string, apply: (subscription: Subscription) => void): Promise<Subscription> {
    return this.unitOfWork.run(async () => {
      const subscription = await this.lock(id);
      const { state } = subscription;
      apply(subscription);
      subscription.updated_datetime = this.clock.now();
      await this.database.manager.save(subscription);
      this.signals.changed(id, state === 'UNVERIFIED' && subscription.state === 'ACTIVE');
      this.unitOfWork.audit(`subscription.${action}`, id, { accountCode: subscription.account_code });
      await this.races.reached('changing subscription');
      return subscription;
    });
  }

  private async lock(id: string): Promise<Subscription> {
    const found = isUuid(id)
      ? await this.database.manager.findOne(Subscription, {
          where: inReach(id),
          lock: { mode: 'pessimistic_write' },
        })
      : null;
    return known(found);
  }

  /** Returns a fault for each address that partners may not have. It resolves names. */
  async addressFaults(partnerUrl: string | undefined, tokenUrl: string | undefined): Promise<Fault[]> {
    const faults = await Promise.all([
      partnerUrl === undefined ? null : this.addressFault(parsePartnerUrl(partnerUrl), '/partner_url'),
      tokenUrl === undefined ? null : this.addressFault(parseTokenUrl(tokenUrl), '/auth/token_url'),
    ]);
    return faults.filter((found) => found !== null);
  }

  private async addressFault(url: URL, pointer: string): Promise<Fault | null> {
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
    // An unknown name may be saved: it is checked again at every connection.
    return null;
  }
}

/** Matches a subscription that is not deleted, of an account that the caller may see. */
function inReach(id: string): FindOptionsWhere<Subscription> {
  const reach = currentReach();
  return { id, deleted_datetime: IsNull(), ...(reach !== null && { account_code: In([...reach]) }) };
}

/** @throws DomainError `not_found` */
function known(found: Subscription | null): Subscription {
  if (found === null) throw notFound.error({ detail: 'There is no such subscription.' });
  return found;
}
