import { Command } from '@nestjs/cqrs';
import type { Fault } from '../platform/errors.js';

/**
 * Creates the notifications for the events of a booking or an eligibility record, up to the given event, and marks
 * these events as settled.
 */
export class TranslateEvents extends Command<void> {
  constructor(
    readonly stream: string,
    readonly upTo: number,
    readonly isOfRecord: boolean,
  ) {
    super();
  }
}

/** The outcome of a request to a webhook. */
export interface WebhookOutcome {
  /** Whether the webhook answered with a status from 200 to 299 in time. */
  readonly delivered: boolean;
  readonly failure: string | null;
  readonly reason: string | null;
  readonly httpStatus: number | null;
}

/**
 * Sends a POST request with a JSON body to a webhook, protected by the same address guard as requests to partners. The
 * time limit covers everything from the name look-up to the last byte. Execute this command outside a transaction.
 */
export class PostToWebhook extends Command<WebhookOutcome> {
  constructor(
    readonly url: string,
    readonly headers: readonly { name: string; value: string }[],
    readonly body: string,
    readonly options: { readonly id: string; readonly waitMs: number },
  ) {
    super();
  }
}

/**
 * Checks the address of a webhook before it is saved. Returns the fault of an address to which the service must not
 * connect; null for any other address.
 */
export class CheckWebhookAddress extends Command<Fault | null> {
  constructor(
    readonly url: string,
    readonly pointer: string,
  ) {
    super();
  }
}
