import { randomUUID } from 'node:crypto';
import { Injectable, Optional } from '@nestjs/common';
import type { ChangeReason } from '../../bookings/bookings.events.js';
import { Clock } from '../../platform/clock.js';
import { sampleNotificationRequest } from '../notification-request.js';
import { PartnerAddressGuard } from '../partner/partner-address.js';
import { PartnerClient } from '../partner/partner-client.js';
import type { AttemptOutcome } from '../partner/attempt-outcome.js';
import { inspectPartner } from '../partner/partner-inspection.js';
import { systemLookup, type AddressLookup } from '../partner/partner-names.js';
import { PartnerDirectory } from './partner-directory.js';
import { reportOf } from './sample-report.rules.js';
import type { SampleReport } from './sample-report.dto.js';
import type { Subscription } from './subscription.entity.js';

/**
 * Sends samples to partners. A sample is a complete, signed NotificationRequest with invented codes, and is not stored.
 */
@Injectable()
export class PartnerProbe {
  constructor(
    private readonly clock: Clock,
    private readonly directory: PartnerDirectory,
    private readonly client: PartnerClient,
    private readonly guard: PartnerAddressGuard,
    @Optional() private readonly lookup: AddressLookup = systemLookup,
  ) {}

  async send(subscription: Subscription, reason: ChangeReason): Promise<AttemptOutcome> {
    const profile = this.directory.profileOf(subscription);
    const now = this.clock.now();
    const sample = {
      id: randomUUID(),
      body: JSON.stringify({ ...sampleNotificationRequest(now), change_reason: reason }),
      event_sequence: 1,
      traceparent: null,
    };
    return this.client.put(profile.endpoint, profile.headers(sample), sample.body);
  }

  /**
   * Sends a sample to the partner, and reports the result of each step, from the look-up of the name to the response.
   */
  async report(subscription: Subscription, reason: ChangeReason): Promise<SampleReport> {
    const { endpoint } = this.directory.profileOf(subscription);
    const signal = AbortSignal.timeout(endpoint.waitMs);
    const seen = await inspectPartner(endpoint, this.guard, this.lookup, signal);
    return reportOf(seen, await this.send(subscription, reason), endpoint.auth.type, reason);
  }

  /**
   * Returns the expiry of the certificate that the partner showed last; null if it has not shown one to this process.
   */
  certificateNotAfter(subscription: Subscription): Date | null {
    return this.client.certificateNotAfter(this.directory.profileOf(subscription).endpoint.key);
  }
}
