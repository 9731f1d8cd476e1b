import { randomUUID } from 'node:crypto';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { CHANGE_REASONS } from '../../bookings/bookings.events.js';
import { RECORD_CHANGES } from '../../platform/changes/change.entity.js';
import { Clock } from '../../platform/clock.js';
import { Database, violatedConstraint } from '../../platform/database/database.js';
import { currentAllowedSubscriptions } from '../../platform/context/request-context.js';
import { UnitOfWork } from '../../platform/unit-of-work/unit-of-work.js';
import { accountNotFound, type Fault } from '../../platform/errors.js';
import { Faults } from '../../platform/validation/faults.js';
import { fault } from '../../platform/validation/rules.js';
import { authRequired, subscriptionUnverified, suspendedByOperator } from '../notifications.errors.js';
import type { PartnerAuth } from '../partner/partner-credentials.js';
import { DeliverySignals } from '../delivery-signals.js';
import { newSigningSecret } from '../partner/signature.js';
import { Subscription, type PartnerDelivery } from './subscription.entity.js';
import {
  addressRequired,
  autoRetryCauses,
  beginSuspension,
  certificateFaults,
  changeWay,
  credentialFaults,
  DEFAULT_AUTO_RETRY,
  endSuspension,
  NO_ADDRESS,
  suspenderOf,
} from './subscription.rules.js';
import { SubscriptionSecrets } from './subscription-secrets.js';
import { SubscriptionStore } from './subscription-store.js';
import {
  ChangeSubscription,
  CreateSubscription,
  DeleteSubscription,
  ResumeSubscription,
  SuspendSubscription,
  type WithSecret,
} from './subscriptions.commands.js';
import type { SubscriptionPatch } from './subscriptions.dto.js';

function tokenUrlOf(auth: PartnerAuth | null | undefined): string | undefined {
  return auth?.type === 'oauth2_client_credentials' ? auth.token_url : undefined;
}

/** Applies the settings in a request's body to the subscription. Null resets a setting to its default. */
function applySettings(to: Subscription, patch: SubscriptionPatch, secrets: SubscriptionSecrets): void {
  const {
    name,
    change_reasons,
    record_changes,
    auth,
    ca_pem,
    client_cert_pem,
    client_key_pem,
    wait_ms,
    auto_retry_on,
    max_per_second,
  } = patch;
  if (name !== undefined) to.name = name;
  if (change_reasons !== undefined)
    to.change_reasons = CHANGE_REASONS.filter((reason) => (change_reasons ?? CHANGE_REASONS).includes(reason));
  if (record_changes !== undefined)
    to.record_changes = RECORD_CHANGES.filter((change) => record_changes?.includes(change));
  if (auth !== undefined) Object.assign(to, secrets.sealAuth(auth ?? { type: 'none' }, to.id));
  if (ca_pem !== undefined) to.ca_pem = ca_pem;
  if (client_cert_pem !== undefined || client_key_pem !== undefined) {
    const key = to.client_key === null ? null : secrets.open(to.client_key, to.id, 'client-key');
    const [newCert, newKey] = [orKept(client_cert_pem, to.client_cert_pem), orKept(client_key_pem, key)];
    to.client_cert_pem = newCert;
    to.client_key = newKey === null ? null : secrets.seal(newKey, to.id, 'client-key');
  }
  if (wait_ms !== undefined) to.wait_ms = wait_ms;
  if (auto_retry_on !== undefined) to.auto_retry_on = autoRetryCauses(auto_retry_on ?? DEFAULT_AUTO_RETRY);
  if (max_per_second !== undefined) to.max_per_second = max_per_second;
}

function deliveryAfter({ delivery }: SubscriptionPatch, kept: Subscription): PartnerDelivery {
  return orKept(delivery, kept.delivery) ?? 'PUSH';
}

function orKept<T>(given: T | undefined, kept: T): T {
  return given === undefined ? kept : given;
}

/** Returns the validation errors of the certificates that the subscription would have after the change. */
function certificatesOf(patch: SubscriptionPatch, kept: Subscription, secrets: SubscriptionSecrets): Fault[] {
  const key = kept.client_key === null ? null : secrets.open(kept.client_key, kept.id, 'client-key');
  const certificates = {
    caPem: orKept(patch.ca_pem, kept.ca_pem),
    clientCertPem: orKept(patch.client_cert_pem, kept.client_cert_pem),
    clientKeyPem: orKept(patch.client_key_pem, key),
  };
  return certificateFaults(certificates, patch.client_cert_pem !== undefined);
}

@CommandHandler(CreateSubscription)
export class CreateSubscriptionHandler implements ICommandHandler<CreateSubscription> {
  constructor(
    private readonly database: Database,
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
    private readonly secrets: SubscriptionSecrets,
    private readonly store: SubscriptionStore,
  ) {}

  async execute({ body }: CreateSubscription): Promise<WithSecret> {
    const now = this.clock.now();
    const signingSecret = newSigningSecret();
    const delivery = body.delivery ?? 'PUSH';
    const subscription = this.database.manager.create(Subscription, {
      id: randomUUID(),
      account_code: body.account_code,
      name: null,
      partner_url: body.partner_url ?? NO_ADDRESS,
      delivery,
      verified_url: null,
      change_reasons: [...CHANGE_REASONS],
      record_changes: [],
      auth: { type: 'none' },
      auth_secret: null,
      ca_pem: null,
      client_cert_pem: null,
      client_key: null,
      wait_ms: null,
      max_per_second: null,
      auto_retry_on: [...DEFAULT_AUTO_RETRY],
      previous_signing_secrets: null,
      state: delivery === 'POLL' ? 'ACTIVE' : 'UNVERIFIED',
      health: 'UP',
      health_changed_at: null,
      next_probe_at: null,
      suspended_datetime: null,
      suspended_by_partner: null,
      suspended_before_move: null,
      suspensions: '{}',
      created_datetime: now,
      updated_datetime: now,
    });
    subscription.signing_secret = this.secrets.seal(signingSecret, subscription.id, 'signing-secret');
    new Faults([
      ...certificatesOf(body, subscription, this.secrets),
      ...addressRequired(delivery, body.partner_url),
      ...(await this.store.addressFaults(body.partner_url, tokenUrlOf(body.auth))),
    ]).refuse();
    applySettings(subscription, body, this.secrets);
    await this.unitOfWork
      .run(async () => {
        await this.database.manager.insert(Subscription, subscription);
        this.unitOfWork.audit('subscription.create', subscription.id, { accountCode: subscription.account_code });
      })
      .catch((error: unknown) => {
        if (violatedConstraint(error) !== 'subscriptions_account_fk') throw error;
        throw accountNotFound.error({
          errors: [fault('account_not_found', 'No account has this code.', '/account_code')],
        });
      });
    return { subscription, signingSecret };
  }
}

/**
 * Changes a subscription. If its address changes or the partner begins to poll, the HTTP response waits until no
 * process can start an attempt to the old address.
 */
@CommandHandler(ChangeSubscription)
export class ChangeSubscriptionHandler implements ICommandHandler<ChangeSubscription> {
  constructor(
    private readonly clock: Clock,
    private readonly secrets: SubscriptionSecrets,
    private readonly store: SubscriptionStore,
    private readonly signals: DeliverySignals,
  ) {}

  async execute({ id, patch }: ChangeSubscription): Promise<Subscription> {
    const { partner_url: partnerUrl } = patch;
    const addressFaults = this.store.addressFaults(partnerUrl, tokenUrlOf(patch.auth));
    this.assertFits(patch, await this.store.get(id), await addressFaults);
    let beganPolling = false;
    const changed = await this.store.change(id, 'change', (subscription) => {
      // The subscription was read without a lock, and may have changed since then. It is therefore checked again.
      this.assertFits(patch, subscription, []);
      applySettings(subscription, patch, this.secrets);
      beganPolling = subscription.delivery === 'PUSH' && deliveryAfter(patch, subscription) === 'POLL';
      changeWay(
        subscription,
        orKept(partnerUrl, subscription.partner_url) ?? NO_ADDRESS,
        deliveryAfter(patch, subscription),
        this.clock.now(),
      );
      subscription.version += 1;
    });
    if (beganPolling || (partnerUrl !== undefined && changed.state === 'UNVERIFIED')) await this.signals.stopped(id);
    return changed;
  }

  /**
   * Checks that the change fits the subscription.
   * @throws DomainError `validation_error`, or `auth_required` when there is no other fault
   */
  private assertFits(patch: SubscriptionPatch, kept: Subscription, found: readonly Fault[]): void {
    const address = addressRequired(deliveryAfter(patch, kept), orKept(patch.partner_url, kept.partner_url));
    const faults = [...certificatesOf(patch, kept, this.secrets), ...address, ...found];
    const missing = credentialFaults(patch, kept);
    if (faults.length === 0 && missing.length > 0) throw authRequired.error({ errors: missing });
    new Faults([...faults, ...missing]).refuse();
  }
}

@CommandHandler(DeleteSubscription)
export class DeleteSubscriptionHandler implements ICommandHandler<DeleteSubscription> {
  constructor(
    private readonly clock: Clock,
    private readonly store: SubscriptionStore,
  ) {}

  async execute({ id }: DeleteSubscription): Promise<void> {
    await this.store.change(id, 'delete', (subscription) => {
      subscription.deleted_datetime = this.clock.now();
      subscription.version += 1;
    });
  }
}

/** Suspends a subscription. The HTTP response waits until no process can start an attempt. */
@CommandHandler(SuspendSubscription)
export class SuspendSubscriptionHandler implements ICommandHandler<SuspendSubscription> {
  constructor(
    private readonly clock: Clock,
    private readonly store: SubscriptionStore,
    private readonly signals: DeliverySignals,
  ) {}

  async execute({ id }: SuspendSubscription): Promise<Subscription> {
    const suspended = await this.store.change(id, 'suspend', (subscription) => {
      assertVerified(subscription);
      beginSuspension(subscription, currentSide(), this.clock.now());
    });
    await this.signals.stopped(id);
    return suspended;
  }
}

@CommandHandler(ResumeSubscription)
export class ResumeSubscriptionHandler implements ICommandHandler<ResumeSubscription> {
  constructor(
    private readonly clock: Clock,
    private readonly store: SubscriptionStore,
  ) {}

  execute({ id }: ResumeSubscription): Promise<Subscription> {
    return this.store.change(id, 'resume', (subscription) => {
      assertVerified(subscription);
      if (currentSide() === 'PARTNER' && suspenderOf(subscription) === 'OPERATOR') throw suspendedByOperator.error();
      endSuspension(subscription, this.clock.now());
      subscription.state = 'ACTIVE';
    });
  }
}

/**
 * Returns whether the caller acts as a partner or as an operator. On a route for the `partner` scope, the caller acts
 * as a partner.
 */
function currentSide(): 'OPERATOR' | 'PARTNER' {
  return currentAllowedSubscriptions() === null ? 'OPERATOR' : 'PARTNER';
}

/**
 * Refuses an unverified subscription.
 * @throws DomainError `subscription_unverified`
 */
function assertVerified({ state }: Subscription): void {
  if (state === 'UNVERIFIED') throw subscriptionUnverified.error();
}
