import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { isRecordChange } from '../../../src/platform/changes/change.entity.js';
import type { Ledger } from './chaos-ledger.js';

/** The delay, in milliseconds, before the partner repeats a poll that a process could not answer. */
const AGAIN_MS = 100;
const MOST = 50;
const MOST_PROCESSING_MS = 80;
/**
 * The timeout of a poll, in milliseconds. The service answers a poll after at most 30 s, even without a notification.
 */
const PATIENCE_MS = 60_000;

interface Polled {
  readonly id: string;
  readonly event_sequence: number;
  readonly change_reason: string;
  readonly body: string;
}

/** A partner that polls its notifications with several calls at the same time. It acknowledges all notifications. */
export class PollingPartner {
  polled = 0;
  /**
   * The responses with a status other than 200, except those for which `isAbsent` is true. Also the acknowledgements
   * that the service ignored.
   */
  readonly faults: string[] = [];
  private running = true;
  private readonly workers: Promise<void>[];

  constructor(
    private readonly options: {
      /** Returns the base URL of the service process that gets the next poll. */
      readonly baseUrl: () => string;
      readonly token: string;
      readonly ledger: Ledger;
      readonly calls: number;
      /** Returns whether a response with this status comes from a process whose release does not support polls. */
      readonly isAbsent?: (status: number) => boolean;
    },
  ) {
    this.workers = Array.from({ length: options.calls }, () => this.work());
  }

  /** Stops polling once a poll returns no notification. */
  async stop(): Promise<void> {
    this.running = false;
    await Promise.all(this.workers);
  }

  private async work(): Promise<void> {
    for (let ack: string[] = []; ;) {
      const notifications = await this.poll(ack);
      if (notifications.length === 0 && !this.running) return;
      this.polled += notifications.length;
      const attempts = notifications.map(({ id, event_sequence, change_reason, body }) => {
        const { booking_code, svc_eligiblity_id } = JSON.parse(body) as Record<string, string>;
        const subject = isRecordChange(change_reason) ? svc_eligiblity_id : booking_code;
        return this.options.ledger.begin(id, subject, event_sequence);
      });
      await pause(randomInt(MOST_PROCESSING_MS));
      // The end of each attempt is recorded before the acknowledgement is sent. The service may offer the booking's
      // next event as soon as the acknowledgement arrives.
      for (const end of attempts) end(200);
      ack = notifications.map(({ id }) => id);
    }
  }

  private async poll(ack: readonly string[]): Promise<Polled[]> {
    const { baseUrl, token, isAbsent } = this.options;
    for (;;) {
      const response = await fetch(`${baseUrl()}/partner/notifications/poll`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ ack, max: MOST, return_immediately: ack.length > 0 || !this.running }),
        signal: AbortSignal.timeout(PATIENCE_MS),
      }).catch((error: unknown) => this.failed(`${String(error)}, ${String((error as Error).cause)}`));
      if (response?.ok) {
        const { notifications, unknown } = (await response.json()) as { notifications: Polled[]; unknown: string[] };
        if (unknown.length > 0) this.faults.push(`ignored acknowledgements: ${unknown.join(', ')}`);
        return notifications;
      }
      if (response) {
        const text = await response.text();
        if (!isAbsent?.(response.status)) this.failed(`${response.status} ${text}`);
      }
      await pause(AGAIN_MS);
    }
  }

  private failed(fault: string): null {
    this.faults.push(`poll: ${fault}`);
    return null;
  }
}
