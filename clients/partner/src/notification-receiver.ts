/**
 * How a notification is taken:
 *
 * 1. Form: `application/json`, no content coding. Else 415.
 * 2. The signature, over the bytes that came, before anything is believed. Else 401.
 * 3. The body is a NotificationRequest, and `event-sequence` a number. Else 400.
 * 4. The sample of a verification is answered with 200 and goes no further.
 * 5. The store decides: new (your work is done, in its transaction), late or repeat. All three are 200.
 * 6. Your work says `UnknownRecord`: 400. Anything else that fails: 500, and the service sends again by itself.
 *
 * Never answer 200 before the work, or a note of it, is committed.
 */
import {
  isSample,
  MalformedNotification,
  parseNotification,
  type NotificationRequest,
} from './notification-request.js';
import type { NotificationStore, Outcome, Received } from './notification-store.js';
import { headerOf, InvalidSignature, keyOf, verifySignature, type Headers } from './signature.js';

/** Thrown by your work: the candidate or the exam is none of yours. The service is answered 400, and an operator decides. */
export class UnknownRecord extends Error {
  override readonly name = 'UnknownRecord';
}

export interface ReceiverOptions<Transaction> {
  /** `whsec_…`; while a secret is being changed, both. */
  secrets: string | readonly string[];
  store: NotificationStore<Transaction>;
  /** Handles a change: called once for each, in the order of its booking, in the transaction of the store. */
  work: (notification: NotificationRequest, transaction: Transaction) => Promise<void>;
  /** How far the timestamp may be off, in seconds; 300 by default. */
  toleranceS?: number;
  /** Told of every refusal and failure; for your log. */
  onFault?: (error: Error) => void;
}

export interface ReceivedAnswer {
  status: number;
  /** JSON that an operator of the service can read; it holds no personal data. */
  body: string;
}

/** Takes notifications, whichever server brings them. */
export class NotificationReceiver<Transaction = undefined> {
  /** @throws TypeError when a secret is none */
  constructor(private readonly options: ReceiverOptions<Transaction>) {
    const { secrets } = options;
    for (const secret of typeof secrets === 'string' ? [secrets] : secrets) keyOf(secret);
  }

  /** A PUT of the service: its headers, names in lower case, and its body as the bytes that came. */
  async receive(headers: Headers, body: Uint8Array): Promise<ReceivedAnswer> {
    try {
      const wrongForm = formFault(headers);
      if (wrongForm !== null) return this.refused(415, 'unsupported_media_type', wrongForm);
      verifySignature(headers, body, this.options.secrets, { toleranceS: this.options.toleranceS });
      const received = receivedOf(headers, body);
      if (isSample(received.notification)) return answer(200, { outcome: 'sample' });
      return answer(200, { outcome: await this.take(received) });
    } catch (error) {
      if (error instanceof InvalidSignature) return this.refused(401, error.code, error.message);
      if (error instanceof MalformedNotification) return this.refused(400, 'malformed', error.message);
      if (error instanceof UnknownRecord)
        return this.refused(400, 'unknown_record', 'The candidate or exam is unknown.');
      this.options.onFault?.(error instanceof Error ? error : new Error(String(error)));
      return answer(500, { code: 'failed', detail: 'The notification could not be worked on.' });
    }
  }

  /** A notification whose origin is certain, such as one of the change feed. */
  take(received: Received): Promise<Outcome> {
    return this.options.store.once(received, (transaction) => this.options.work(received.notification, transaction));
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

function receivedOf(headers: Headers, body: Uint8Array): Received {
  const sequence = Number(headerOf(headers, 'event-sequence'));
  if (!Number.isSafeInteger(sequence) || sequence < 1)
    throw new MalformedNotification('event-sequence is not a number from 1 on.');
  return { id: headerOf(headers, 'webhook-id'), sequence, notification: parseNotification(jsonOf(body)) };
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
