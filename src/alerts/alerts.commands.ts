import { Command } from '@nestjs/cqrs';
import type { Alert } from './alert.entity.js';
import type { AlertBody } from './alerts.dto.js';

/**
 * Creates an alert, or replaces its definition.
 * @throws DomainError validation_error, mail_not_configured
 */
export class PutAlert extends Command<Alert> {
  constructor(
    readonly name: string,
    readonly body: AlertBody,
  ) {
    super();
  }
}

/**
 * Deletes an alert with its messages.
 * @throws DomainError not_found
 */
export class DeleteAlert extends Command<void> {
  constructor(readonly name: string) {
    super();
  }
}

/**
 * Sends a test message immediately.
 * @throws DomainError not_found, mail_not_configured, alert_not_delivered
 */
export class TestAlert extends Command<Alert> {
  constructor(readonly name: string) {
    super();
  }
}
