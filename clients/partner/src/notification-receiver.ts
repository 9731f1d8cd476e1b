/**
 * Receives a notification in these steps:
 *
 * 1. The body must be `application/json` without a content coding. Otherwise, the response is 415.
 * 2. The signature over the received bytes must be valid. Otherwise, the response is 401. Nothing in the request is
 *    trusted before this check.
 * 3. The body must be a NotificationRequest, and `event-sequence` must be a number. Otherwise, the response is 400.
 * 4. For the sample notification of a verification, the response is 200, and nothing is processed.
 * 5. The store decides the outcome: applied (your function `work` runs in the store's transaction), late or repeat. For
 *    all three, the response is 200.
 * 6. If `work` throws `UnknownRecord`, the response is 400. After other errors (500), the service retries
 *    automatically.
 *
 * Never answer 200 before your database has committed the work, or at least a record of the work to be done.
 */
import {
  isSample,
  MalformedNotification,
  parseNotification,
  type NotificationRequest,
} from './notification-request.js';
import { digestOf } from './digest.js';
import type { NotificationStore, Outcome, Received } from './notification-store.js';
import { isRecordChange, parseRecordChange, type RecordChange } from './record-change.js';
import { headerOf, InvalidSignature, keyOf, verifySignature, type Headers } from './signature.js';

/**
 * Thrown by your function `work` when it does not know the candidate or the exam. The response is 400, and an operator
 * of the service decides what happens to the notification.
 */
export class UnknownRecord extends Error {
  override readonly name = 'UnknownRecord';
}

export interface ReceiverOptions<Transaction> {
  /** The signing secret, `whsec_…`; during a change of secrets, the old and the new secret. */
  secrets: string | readonly string[];
  store: NotificationStore<Transaction>;
  /**
   * Handles a change to a booking. The receiver calls it once for each change, in the order of the booking's events,
   * within the transaction of the store. `isNewestOfRecord` is false if another booking of the same eligibility record
   * had a later event.
   */
  work: (notification: NotificationRequest, transaction: Transaction, isNewestOfRecord: boolean) => Promise<void>;
  /**
   * Handles a change to a record. Only a subscription with `record_changes` receives such changes. Without this
   * function, the receiver refuses them.
   */
  changed?: (change: RecordChange, transaction: Transaction) => Promise<void>;
  /** The maximum difference between the timestamp of a request and the current time, in seconds; 300 by default. */
  toleranceS?: number;
  /** Called for every refused or failed notification, so that you can log the error. */
  onFault?: (error: Error) => void;
}

export interface ReceivedAnswer {
  status: number;
  /** The body of the response. It is JSON for an operator of the service, and contains no personal data. */
  body: string;
}

/** Receives the notifications that an HTTP server of any kind passes to it. */
export class NotificationReceiver<Transaction = undefined> {
  /**
   * Creates a receiver of notifications.
   * @throws TypeError when a secret is malformed
   */
  constructor(private readonly options: ReceiverOptions<Transaction>) {
    const { secrets } = options;
    for (const secret of typeof secrets === 'string' ? [secrets] : secrets) keyOf(secret);
  }

  /** Handles a PUT request from the service. Pass its headers with lower-case names, and its body as raw bytes. */
  async receive(headers: Headers, body: Uint8Array): Promise<ReceivedAnswer> {
    try {
      const wrongForm = formFault(headers);
      if (wrongForm !== null) return this.refused(415, 'unsupported_media_type', wrongForm);
      verifySignature(headers, body, this.options.secrets, { toleranceS: this.options.toleranceS });
    } catch (error) {
      if (error instanceof InvalidSignature) return this.refused(401, error.code, error.message);
      throw error;
    }
    return this.takeGenuine(headerOf(headers, 'webhook-id'), Number(headers['event-sequence']), body);
  }

  /** Handles the body of a notification that is known to come from the service, for instance from a poll. */
  async takeGenuine(id: string, sequence: number, body: Uint8Array): Promise<ReceivedAnswer> {
    try {
      const notification = this.parse(sequence, body);
      if (!isRecordChange(notification) && isSample(notification)) return answer(200, { outcome: 'sample' });
      return answer(200, {
        outcome: await this.take({ id, sequence, notification, digest: digestOf(id, sequence, body) }),
      });
    } catch (error) {
      if (error instanceof MalformedNotification) return this.refused(400, 'malformed', error.message);
      if (error instanceof UnknownRecord)
        return this.refused(400, 'unknown_record', 'The candidate or exam is unknown.');
      this.options.onFault?.(error instanceof Error ? error : new Error(String(error)));
      return answer(500, { code: 'failed', detail: 'The notification could not be worked on.' });
    }
  }

  /** Processes a notification from a trusted source, such as the change feed. */
  take(received: Received): Promise<Outcome> {
    const { notification } = received;
    const { store, work, changed } = this.options;
    return store.once(received, async (transaction, isNewestOfRecord) => {
      if (isRecordChange(notification)) await changed?.(notification, transaction);
      else await work(notification, transaction, isNewestOfRecord);
    });
  }

  private parse(sequence: number, body: Uint8Array): NotificationRequest | RecordChange {
    if (!Number.isSafeInteger(sequence) || sequence < 1)
      throw new MalformedNotification('event-sequence is not a number from 1 on.');
    const value = jsonOf(body);
    const isChange = this.options.changed !== undefined && typeof value === 'object' && value !== null;
    return isChange && isRecordChange(value) ? parseRecordChange(value) : parseNotification(value);
  }

  private refused(status: number, code: string, detail: string): ReceivedAnswer {
    this.options.onFault?.(new Error(`${status} ${code}: ${detail}`));
    return answer(status, { code, detail });
  }
}

function formFault(headers: Headers): string | null {
  const type = String(headers['content-type'] ?? '').split(';')[0];
  if (type.trim().toLowerCase() !== 'application/json') return 'The content type is not application/json.';
  return headers['content-encoding'] === undefined ? null : 'The body has a content coding.';
}

function jsonOf(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) as unknown;
  } catch {
    throw new MalformedNotification('The body is not JSON in UTF-8.');
  }
}

function answer(status: number, body: object): ReceivedAnswer {
  return { status, body: JSON.stringify(body) };
}
