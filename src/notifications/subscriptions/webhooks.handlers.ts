import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { Fault } from '../../platform/errors.js';
import { CheckWebhookAddress, PostToWebhook, type WebhookOutcome } from '../notifications.commands.js';
import { parseTokenUrl } from '../partner/partner-address.js';
import { WebhookClient } from '../partner/webhook-client.js';
import { SubscriptionStore } from './subscription-store.js';

@CommandHandler(PostToWebhook)
export class PostToWebhookHandler implements ICommandHandler<PostToWebhook> {
  constructor(private readonly client: WebhookClient) {}

  async execute({ url, headers, body, options }: PostToWebhook): Promise<WebhookOutcome> {
    const own = Object.fromEntries(headers.map(({ name, value }) => [name.toLowerCase(), value]));
    const { failure, reason, httpStatus } = await this.client.post(url, { ...own, 'webhook-id': options.id }, body, {
      waitMs: options.waitMs,
      secrets: headers.map(({ value }) => value),
    });
    // Chat systems may also answer a message with 202 or 204. For a partner, only 200 counts.
    const isTaken = httpStatus !== null && httpStatus >= 200 && httpStatus < 300 && failure !== 'timeout';
    if (failure === null || isTaken) return { delivered: true, failure: null, reason: null, httpStatus };
    return { delivered: false, failure, reason, httpStatus };
  }
}

@CommandHandler(CheckWebhookAddress)
export class CheckWebhookAddressHandler implements ICommandHandler<CheckWebhookAddress> {
  constructor(private readonly store: SubscriptionStore) {}

  execute({ url, pointer }: CheckWebhookAddress): Promise<Fault | null> {
    return this.store.addressFault(parseTokenUrl(url), pointer);
  }
}
