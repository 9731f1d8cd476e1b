import { randomUUID } from 'node:crypto';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Clock } from '../../platform/clock.js';
import { sampleNotificationRequest } from '../notification-request.js';
import { verificationFailed } from '../notifications.errors.js';
import { PartnerClient } from '../partner/partner-client.js';
import { PartnerDirectory } from './partner-directory.js';
import type { Subscription } from './subscription.entity.js';
import { SubscriptionStore } from './subscription-store.js';
import { VerifySubscription } from './subscriptions.commands.js';

@CommandHandler(VerifySubscription)
export class VerifySubscriptionHandler implements ICommandHandler<VerifySubscription> {
  constructor(
    private readonly clock: Clock,
    private readonly store: SubscriptionStore,
    private readonly directory: PartnerDirectory,
    private readonly client: PartnerClient,
  ) {}

  async execute({ id }: VerifySubscription): Promise<Subscription> {
    const sent = await this.store.get(id);
    const profile = this.directory.profileOf(sent);
    const now = this.clock.now();
    const sample = {
      id: randomUUID(),
      body: JSON.stringify(sampleNotificationRequest(now)),
      event_sequence: 1,
      traceparent: null,
    };
    const result = await this.client.put(profile.endpoint, profile.headers(sample, now.getTime()), sample.body);
    if (!result.delivered)
      throw verificationFailed.error({
        members: {
          failure: result.failure,
          reason: result.reason,
          http_status: result.httpStatus,
          excerpt: result.excerpt,
        },
      });
    return this.store.change(id, 'verify', (subscription) => {
      if (subscription.version !== sent.version)
        throw verificationFailed.error({ detail: 'The subscription was changed while the sample was sent.' });
      subscription.certificate_not_after = this.client.certificateNotAfter(profile.endpoint.key);
      if (subscription.state === 'UNVERIFIED') subscription.state = 'ACTIVE';
      if (subscription.health === 'DOWN') {
        subscription.health = 'UP';
        subscription.health_changed_at = this.clock.now();
        subscription.next_probe_at = null;
        subscription.probe_step = 0;
        subscription.probe_token = null;
      }
    });
  }
}
