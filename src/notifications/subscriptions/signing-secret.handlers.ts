import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Clock } from '../../platform/clock.js';
import { newSigningSecret } from '../partner/signature.js';
import { SubscriptionSecrets } from './subscription-secrets.js';
import { SubscriptionStore } from './subscription-store.js';
import { RotateSigningSecret, type WithSecret } from './subscriptions.commands.js';

/** The time, in milliseconds, for which a replaced signing secret still signs notifications. */
const BOTH_SIGN_MS = 24 * 3600_000;

@CommandHandler(RotateSigningSecret)
export class RotateSigningSecretHandler implements ICommandHandler<RotateSigningSecret> {
  constructor(
    private readonly clock: Clock,
    private readonly secrets: SubscriptionSecrets,
    private readonly store: SubscriptionStore,
  ) {}

  async execute({ id }: RotateSigningSecret): Promise<WithSecret> {
    const signingSecret = newSigningSecret();
    const subscription = await this.store.change(id, 'rotate-secret', (changed) => {
      const until = new Date(this.clock.now().getTime() + BOTH_SIGN_MS);
      this.secrets.replaceSigning(changed, signingSecret, until);
      changed.version += 1;
    });
    return { subscription, signingSecret };
  }
}
