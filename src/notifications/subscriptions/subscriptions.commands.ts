import { Command } from '@nestjs/cqrs';
import type { ChangeReason } from '../../bookings/bookings.events.js';
import type { SampleReport } from './sample-report.dto.js';
import type { Subscription } from './subscription.entity.js';
import type { SubscriptionBody, SubscriptionPatch } from './subscriptions.dto.js';

export interface WithSecret {
  subscription: Subscription;
  /** The signing secret in plain text. Only the response to this command's request contains it. */
  signingSecret: string;
}

export class CreateSubscription extends Command<WithSecret> {
  constructor(readonly body: SubscriptionBody) {
    super();
  }
}

export class ChangeSubscription extends Command<Subscription> {
  constructor(
    readonly id: string,
    readonly patch: SubscriptionPatch,
  ) {
    super();
  }
}

export class DeleteSubscription extends Command<void> {
  constructor(readonly id: string) {
    super();
  }
}

/** Sends a sample to the partner. If the partner answers 200, the subscription becomes ACTIVE. */
export class VerifySubscription extends Command<Subscription> {
  constructor(readonly id: string) {
    super();
  }
}

/**
 * Sends a sample of an event to the partner, and reports the result. With `verify`, a response with status 200 makes
 * the subscription ACTIVE.
 */
export class SendSample extends Command<SampleReport> {
  constructor(
    readonly id: string,
    readonly changeReason: ChangeReason,
    readonly verify: boolean,
  ) {
    super();
  }
}

export class SuspendSubscription extends Command<Subscription> {
  constructor(readonly id: string) {
    super();
  }
}

export class ResumeSubscription extends Command<Subscription> {
  constructor(readonly id: string) {
    super();
  }
}

export class RotateSigningSecret extends Command<WithSecret> {
  constructor(readonly id: string) {
    super();
  }
}
