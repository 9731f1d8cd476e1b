import { Injectable } from '@nestjs/common';
import { Clock, formatDateTime, formatOptionalDateTime } from '../../platform/clock.js';
import { PartnerStanding, shownPace } from './partner-standing.js';
import { RepeatedAddresses } from './repeated-addresses.js';
import type { Subscription } from './subscription.entity.js';
import { autoRetryCauses, NO_ADDRESS, suspenderOf } from './subscription.rules.js';
import type { WithSecret } from './subscriptions.commands.js';
import type { SubscriptionModel, SubscriptionWithSecret } from './subscriptions.dto.js';

/** Presents subscriptions in HTTP responses, in the same way to operators and to partners. */
@Injectable()
export class SubscriptionPresenter {
  constructor(
    private readonly clock: Clock,
    private readonly standing: PartnerStanding,
    private readonly repeated: RepeatedAddresses,
  ) {}

  async all(subscriptions: readonly Subscription[]): Promise<SubscriptionModel[]> {
    const failing = await this.standing.failingSince(subscriptions.map(({ id }) => id));
    const warnings = await this.repeated.warningsOf(subscriptions);
    const now = this.clock.now();
    return subscriptions.map((subscription) => ({
      ...shown(subscription, failing.get(subscription.id) ?? null, now),
      warnings: warnings.get(subscription.id) ?? [],
    }));
  }

  async one(subscription: Subscription): Promise<SubscriptionModel> {
    return (await this.all([subscription]))[0];
  }

  async withSecret({ subscription, signingSecret }: WithSecret): Promise<SubscriptionWithSecret> {
    return { ...(await this.one(subscription)), signing_secret: signingSecret };
  }
}

function shown(subscription: Subscription, failingSince: Date | null, now: Date): Omit<SubscriptionModel, 'warnings'> {
  const { paused_until, pace } = shownPace(subscription, now);
  const { delivery, partner_url } = subscription;
  return {
    id: subscription.id,
    account_code: subscription.account_code,
    name: subscription.name,
    partner_url: partner_url === NO_ADDRESS ? null : partner_url,
    delivery,
    change_reasons: subscription.change_reasons,
    record_changes: subscription.record_changes,
    auth: subscription.auth,
    ca_pem: subscription.ca_pem,
    client_cert_pem: subscription.client_cert_pem,
    wait_ms: subscription.wait_ms,
    auto_retry_on: autoRetryCauses(subscription.auto_retry_on),
    max_per_second: subscription.max_per_second,
    state: subscription.state,
    suspended_by: suspenderOf(subscription),
    health: subscription.health,
    next_probe_at: formatOptionalDateTime(subscription.next_probe_at),
    failing_since: formatOptionalDateTime(failingSince),
    paused_until: formatOptionalDateTime(paused_until),
    pace,
    created_datetime: formatDateTime(subscription.created_datetime),
    updated_datetime: formatDateTime(subscription.updated_datetime),
  };
}
