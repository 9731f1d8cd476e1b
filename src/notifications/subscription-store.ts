import { isIP } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { IsNull } from 'typeorm';
import { Database } from '../platform/database/database.js';
import { notFound, validationError, type Fault } from '../platform/errors.js';
import { fault } from '../platform/http/rules.js';
import {
  AddressBlockedError,
  dialledHost,
  parsePartnerUrl,
  parseTokenUrl,
  PartnerAddressGuard,
} from './partner-address.js';
import { Subscription } from './subscription.entity.js';

/** A name server that says nothing must not keep an operator waiting: every connection asks again anyway. */
const LOOKUP_MS = 2_000;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export function isUuid(text: string): boolean {
  return UUID.test(text);
}

@Injectable()
export class SubscriptionStore {
  constructor(
    private readonly database: Database,
    private readonly guard: PartnerAddressGuard,
  ) {}

  /** @throws DomainError `not_found` */
  async get(id: string): Promise<Subscription> {
    const found = isUuid(id)
      ? await this.database.manager.findOneBy(Subscription, { id, deleted_datetime: IsNull() })
      : null;
    if (found === null) throw notFound.error({ detail: 'There is no such subscription.' });
    return found;
  }

  /** As {@link get}, locked to the end of the transaction. */
  async getForUpdate(id: string): Promise<Subscription> {
    const found = isUuid(id)
      ? await this.database.manager.findOne(Subscription, {
          where: { id, deleted_datetime: IsNull() },
          lock: { mode: 'pessimistic_write' },
        })
      : null;
    if (found === null) throw notFound.error({ detail: 'There is no such subscription.' });
    return found;
  }

  /** @throws DomainError `validation_error` when an address lies where partners may not live. Looks names up. */
  async assertAddresses(partnerUrl: string | undefined, tokenUrl: string | undefined): Promise<void> {
    const faults = await Promise.all([
      partnerUrl === undefined ? null : this.addressFault(parsePartnerUrl(partnerUrl), '/partner_url'),
      tokenUrl === undefined ? null : this.addressFault(parseTokenUrl(tokenUrl), '/auth/token_url'),
    ]);
    const errors = faults.filter((found) => found !== null);
    if (errors.length > 0) throw validationError.error({ errors });
  }

  private async addressFault(url: URL, pointer: string): Promise<Fault | null> {
    const host = dialledHost(url);
    const lookup = this.guard.resolveAllowed(host);
    try {
      await (isIP(host) === 0 ? Promise.race([lookup, pause(LOOKUP_MS, undefined, { ref: false })]) : lookup);
    } catch (error) {
      if (error instanceof AddressBlockedError)
        return fault('address_blocked', 'The address is not public and partners may not live there.', pointer);
    }
    // A name that is not known yet may be saved: it is judged again at every connection.
    return null;
  }
}
