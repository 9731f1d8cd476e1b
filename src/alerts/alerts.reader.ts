import { Injectable } from '@nestjs/common';
import { formatDateTime, formatOptionalDateTime } from '../platform/clock.js';
import { Database, prepared } from '../platform/database/database.js';
import { notFound } from '../platform/errors.js';
import { newestFirst, type Page } from '../platform/http/paging.js';
import { Alert } from './alert.entity.js';
import type { AlertModel } from './alerts.dto.js';

const WAITING = prepared(
  'alert-messages-waiting',
  `SELECT alert_name, count(*)::int AS waiting FROM alert_messages
   WHERE alert_name = ANY ($1::text[]) AND sent_datetime IS NULL GROUP BY 1`,
);

/** Reads alerts. Lists are sorted newest first. */
@Injectable()
export class AlertsReader {
  constructor(private readonly database: Database) {}

  list(page: Page): Promise<Alert[]> {
    return this.database.manager.find(Alert, newestFirst(page));
  }

  /**
   * Returns the alert with the given name.
   * @throws DomainError not_found
   */
  async get(name: string): Promise<Alert> {
    const alert = await this.database.manager.findOneBy(Alert, { name });
    if (alert === null) throw notFound.error({ detail: 'There is no such alert.' });
    return alert;
  }

  /** Returns the alerts as HTTP responses show them, without the values of headers. */
  async present(alerts: readonly Alert[]): Promise<AlertModel[]> {
    const rows = await this.database.query<{ alert_name: string; waiting: number }>(WAITING, [
      alerts.map(({ name }) => name),
    ]);
    const waiting = new Map(rows.map((row) => [row.alert_name, row.waiting]));
    return alerts.map((alert) => ({
      name: alert.name,
      kind: alert.kind,
      to: alert.recipients ?? [],
      url: alert.url,
      headers: alert.header_names.map((name) => ({ name })),
      account_codes: alert.watched_accounts ?? [],
      conditions: alert.conditions,
      quiet_s: alert.quiet_s,
      disabled: alert.disabled,
      waiting: waiting.get(alert.name) ?? 0,
      last_sent_datetime: formatOptionalDateTime(alert.last_sent_datetime),
      last_error: alert.last_error,
      last_error_datetime: formatOptionalDateTime(alert.last_error_datetime),
      next_attempt_at: formatOptionalDateTime(alert.retry_datetime),
      created_datetime: formatDateTime(alert.created_datetime),
      updated_datetime: formatDateTime(alert.updated_datetime),
    }));
  }
}
