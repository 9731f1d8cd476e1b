import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { AlertStore } from './alert-store.js';
import { testContent } from './alert-text.rules.js';
import { AlertTransport } from './alert-transport.js';
import type { Alert } from './alert.entity.js';
import { AlertsConfig } from './alerts.config.js';
import { alertNotDelivered, mailNotConfigured } from './alerts.errors.js';
import { SendFailure } from './mail.js';

/** Sends test messages, which are not stored. */
@Injectable()
export class AlertTest {
  constructor(
    private readonly config: AlertsConfig,
    private readonly transport: AlertTransport,
    private readonly store: AlertStore,
  ) {}

  /**
   * Sends a test message immediately, and records the outcome.
   * @throws DomainError mail_not_configured, alert_not_delivered
   */
  async send(alert: Alert): Promise<void> {
    if (alert.kind === 'EMAIL' && !this.config.hasMail) throw mailNotConfigured.error();
    try {
      await this.transport.send(alert, testContent(alert.name), randomUUID());
    } catch (error) {
      if (!(error instanceof SendFailure)) throw error;
      await this.store.testFailed(alert.name, error.message);
      const { failure, reason, httpStatus } = error.outcome;
      throw alertNotDelivered.error({
        detail: `${error.message}.`,
        members: { failure, reason, http_status: httpStatus },
      });
    }
    await this.store.testSent(alert.name);
  }
}
