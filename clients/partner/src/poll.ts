import type { NotificationReceiver } from './notification-receiver.js';
import type { PartnerApi } from './partner-api.js';

/** A notification in the response to a poll. `body` is the text that the body of a pushed notification would have. */
interface Offered {
  id: string;
  event_sequence: number;
  body: string;
}

interface Refusal {
  id: string;
  reason: 'NO_MATCHING_RECORD' | 'OTHER';
  detail: string;
}

export interface PollOptions {
  /**
   * Whether the poll waits for notifications until the signal aborts. By default, the poll ends when no notification is
   * left.
   */
  keepsWaiting?: boolean;
  signal?: AbortSignal;
}

/**
 * Fetches and processes notifications of a subscription with `delivery: "POLL"`. An applied, late or repeated
 * notification is acknowledged. A notification that is malformed or about an unknown record is refused. After any other
 * error, the lease of the notification expires, and the service offers the notification again.
 * @returns the number of acknowledged notifications
 * @throws PartnerApiError
 */
export async function poll<Transaction>(
  receiver: NotificationReceiver<Transaction>,
  api: PartnerApi,
  { keepsWaiting = false, signal }: PollOptions = {},
): Promise<number> {
  let acknowledged = 0;
  let ack: string[] = [];
  let refuse: Refusal[] = [];
  for (;;) {
    const isEnding = signal?.aborted === true;
    const { body } = await api.call<{ notifications: Offered[] }>('POST', 'partner/notifications/poll', {
      subscription_id: api.subscriptionId,
      max: 100,
      return_immediately: !keepsWaiting || isEnding || ack.length + refuse.length > 0,
      ack,
      refuse,
    });
    acknowledged += ack.length;
    [ack, refuse] = [[], []];
    // The last request only reports outcomes. Notifications in its response are not processed, and their leases expire.
    if (isEnding || (body.notifications.length === 0 && !keepsWaiting)) return acknowledged;
    for (const { id, event_sequence: sequence, body: text } of body.notifications) {
      const { status, body: answer } = await receiver.takeGenuine(id, sequence, Buffer.from(text));
      if (status === 200) ack.push(id);
      if (status === 400) {
        const isUnknown = answer.includes('"unknown_record"');
        refuse.push({ id, reason: isUnknown ? 'NO_MATCHING_RECORD' : 'OTHER', detail: answer });
      }
    }
  }
}
