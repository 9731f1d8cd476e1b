import { Command } from '@nestjs/cqrs';
import type { Subscription } from './subscription.entity.js';
import type { SubscriptionBody, SubscriptionPatch } from './subscriptions.dto.js';

export interface WithSecret {
  subscription: Subscription;
  /** In clear, this once. */
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

/** Sends a sample to the partner; a 200 makes the subscription ACTIVE. */
export class VerifySubscription extends Command<Subscription> {
  constructor(readonly id: string) {
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
