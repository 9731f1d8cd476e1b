import { Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { Logger } from '../platform/observability/logger.js';
import { ProcessConfig } from '../platform/process.config.js';
import { AlertStore } from './alert-store.js';
import { AlertTransport } from './alert-transport.js';
import type { AlertMessage } from './alert-message.entity.js';
import type { Alert } from './alert.entity.js';
import { retrySeconds } from './alerts.rules.js';
import { SendFailure } from './mail.js';

const POLL_MS = 1_000;
/** The maximum number of alerts that a process sends at the same time. */
const MOST_AT_ONCE = 16;

/**
 * Sends the stored messages of alerts, at least once.
 *
 * 1. A process leases an alert that has messages, with a fencing token. Until the lease ends, no other process sends
 *    the alert's messages.
 * 2. The process sends the messages one after another, oldest first. The process records each outcome under the token,
 *    which also extends the lease.
 * 3. After a failure, the alert waits longer each time. Other alerts do not wait for this alert.
 * 4. After a crash, the lease expires, and another process sends the message again under the same id.
 *
 * Never send a message in a transaction.
 */
@Injectable()
export class AlertSender implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private active = false;
  private claiming = false;
  private readonly underWay = new Map<string, Promise<void>>();

  constructor(
    private readonly config: ProcessConfig,
    private readonly store: AlertStore,
    private readonly transport: AlertTransport,
    private readonly logger: Logger,
  ) {}

  onApplicationBootstrap(): void {
    this.active = this.config.roles.has('delivery');
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.active = false;
    await Promise.all(this.underWay.values());
  }

  @Interval(POLL_MS)
  async poll(): Promise<void> {
    const free = MOST_AT_ONCE - this.underWay.size;
    if (!this.active || this.claiming || free <= 0) return;
    this.claiming = true;
    try {
      for (const alert of await this.store.claim(free, [...this.underWay.keys()])) {
        const work = this.sendAll(alert).finally(() => this.underWay.delete(alert.name));
        this.underWay.set(alert.name, work);
      }
    } catch (error) {
      this.logger.warn({ err: error }, 'alerts could not be claimed; the next round tries again');
    } finally {
      this.claiming = false;
    }
  }

  private async sendAll(alert: Alert): Promise<void> {
    try {
      while (this.active) {
        const message = await this.store.nextMessage(alert.name);
        if (message === null) break;
        const error = await this.send(alert, message);
        if (!(await this.store.sent(alert, message.id, error))) return;
        alert.failures = 0;
      }
      await this.store.release(alert);
    } catch (error) {
      await this.fail(alert, error);
    }
  }

  /**
   * Sends the message. If only some recipients received it, returns the reason why the others did not. In this case,
   * the message is not retried, because a retry would send it again to the recipients who already have it.
   */
  private async send(alert: Alert, { content, id }: AlertMessage): Promise<string | null> {
    try {
      await this.transport.send(alert, content, id);
      return null;
    } catch (error) {
      if (error instanceof SendFailure && error.isPartial) return error.message;
      throw error;
    }
  }

  private async fail(alert: Alert, error: unknown): Promise<void> {
    const cause = error instanceof SendFailure ? error.message : 'An internal error occurred';
    if (!(error instanceof SendFailure)) this.logger.warn({ err: error, alert: alert.name }, 'an alert failed');
    try {
      await this.store.failed(alert, cause, retrySeconds(alert.failures + 1));
    } catch (failure) {
      this.logger.warn({ err: failure, alert: alert.name }, 'the outcome of an alert could not be recorded');
    }
  }
}
