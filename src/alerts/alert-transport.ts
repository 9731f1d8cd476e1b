import { Injectable } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { PostToWebhook } from '../notifications/notifications.commands.js';
import { HttpConfig } from '../platform/http/http.config.js';
import { AlertSecrets } from './alert-secrets.js';
import { webhookBody, type AlertContent } from './alert-text.rules.js';
import type { Alert } from './alert.entity.js';
import { Mail, MAIL_MS, SendFailure } from './mail.js';

/** The time limit of a request to a webhook, in milliseconds. */
const WEBHOOK_MS = 10_000;
/** The maximum time, in seconds, until the sending of a message has succeeded or failed. */
export const SENDING_S = Math.max(WEBHOOK_MS, MAIL_MS) / 1000;

/** Sends the messages of alerts by mail or to a webhook. */
@Injectable()
export class AlertTransport {
  constructor(
    private readonly mail: Mail,
    private readonly commandBus: CommandBus,
    private readonly secrets: AlertSecrets,
    private readonly http: HttpConfig,
  ) {}

  /**
   * Sends a message. Call it outside a transaction.
   * @throws SendFailure
   */
  async send(alert: Alert, content: AlertContent, id: string): Promise<void> {
    if (alert.kind === 'EMAIL') return this.mail.send(alert.recipients ?? [], content, id);
    const body = webhookBody(content, alert.name, id, this.http.baseUrl);
    const options = { id, waitMs: WEBHOOK_MS };
    const sent = await this.commandBus.execute(new PostToWebhook(alert.url!, this.secrets.open(alert), body, options));
    if (sent.delivered) return;
    const { failure, reason, httpStatus } = sent;
    const status = httpStatus === null ? '' : ` with status ${httpStatus}`;
    const cause = reason === null || httpStatus !== null ? '' : ` (${reason})`;
    const text = httpStatus === null ? 'The webhook did not answer' : 'The webhook answered';
    throw new SendFailure(`${text}${status}${cause}`, { failure, reason, httpStatus });
  }
}
