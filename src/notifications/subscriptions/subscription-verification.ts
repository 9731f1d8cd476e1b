import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Clock } from '../../platform/clock.js';
import { UnitOfWork } from '../../platform/unit-of-work/unit-of-work.js';
import { subscriptionPolled, verificationFailed } from '../notifications.errors.js';
import { PartnerProbe } from './partner-probe.js';
import { verificationDetail } from './sample-report.rules.js';
import type { SampleReport } from './sample-report.dto.js';
import type { Subscription } from './subscription.entity.js';
import { endMove, markUp, NO_ADDRESS } from './subscription.rules.js';
import { SubscriptionStore } from './subscription-store.js';
import { SendSample, VerifySubscription } from './subscriptions.commands.js';

/**
 * Verifies the address of a subscription with a sample. If the partner polls and has no address, no verification is
 * needed, and the subscription stays unchanged.
 */
@CommandHandler(VerifySubscription)
export class VerifySubscriptionHandler implements ICommandHandler<VerifySubscription> {
  constructor(
    private readonly clock: Clock,
    private readonly store: SubscriptionStore,
    private readonly probe: PartnerProbe,
  ) {}

  async execute({ id }: VerifySubscription): Promise<Subscription> {
    const sent = await this.store.get(id);
    if (sent.partner_url === NO_ADDRESS) return sent;
    const result = await this.probe.send(sent, 'BOOKING_CREATED');
    if (!result.delivered)
      throw verificationFailed.error({
        detail: verificationDetail(result),
        members: {
          failure: result.failure,
          reason: result.reason,
          http_status: result.httpStatus,
          excerpt: result.excerpt,
        },
      });
    return this.store.change(id, 'verify', (subscription) =>
      verified(subscription, sent, this.probe, this.clock.now()),
    );
  }
}

@CommandHandler(SendSample)
export class SendSampleHandler implements ICommandHandler<SendSample> {
  constructor(
    private readonly clock: Clock,
    private readonly store: SubscriptionStore,
    private readonly probe: PartnerProbe,
    private readonly unitOfWork: UnitOfWork,
  ) {}

  async execute({ id, changeReason, verify }: SendSample): Promise<SampleReport> {
    const sent = assertAddressed(await this.store.get(id));
    const report = await this.probe.report(sent, changeReason);
    if (report.delivered && verify)
      await this.store.change(id, 'verify', (subscription) =>
        verified(subscription, sent, this.probe, this.clock.now()),
      );
    else
      await this.unitOfWork.run(() => {
        this.unitOfWork.audit('subscription.sample', id, { accountCode: sent.account_code });
        return Promise.resolve();
      });
    return report;
  }
}

/**
 * Returns the subscription if it has an address to which a sample can be sent.
 * @throws DomainError `subscription_polled`
 */
function assertAddressed(subscription: Subscription): Subscription {
  if (subscription.partner_url === NO_ADDRESS) throw subscriptionPolled.error();
  return subscription;
}

/**
 * Marks the subscription's address as verified, after the partner has answered the sample with 200.
 * @throws DomainError `verification_failed` when the subscription changed while the sample was sent
 */
function verified(subscription: Subscription, sent: Subscription, probe: PartnerProbe, now: Date): void {
  if (subscription.version !== sent.version)
    throw verificationFailed.error({ detail: 'The subscription was changed while the sample was sent.' });
  if (subscription.state === 'UNVERIFIED') endMove(subscription, now);
  // The verified address is stored, so that a partner that polls can return to this address without another
  // verification.
  if (subscription.delivery === 'POLL') subscription.verified_url = subscription.partner_url;
  subscription.certificate_not_after = probe.certificateNotAfter(sent);
  subscription.busy_since = null;
  if (subscription.health === 'DOWN') markUp(subscription, now);
}
