import type { NotificationRequest } from './notification-request.js';
import { isRecordChange, type RecordChange } from './record-change.js';

/** A received notification, from a push, a poll or the change feed. */
export interface Received {
  /** The value of `webhook-id`, which is the same on every attempt; null for a notification from the change feed. */
  id: string | null;
  /** The value of `event-sequence`: 1, 2, 3 … within the booking, or within the record for a change to a record. */
  sequence: number;
  notification: NotificationRequest | RecordChange;
  /** The contribution of the notification to the digest of its time step (`digestOf`); omitted for the change feed. */
  digest?: string;
}

/**
 * The outcome of a notification:
 *
 * - `applied`: The notification is the newest of its booking, and `work` was called.
 * - `late`: A newer notification of the same booking was processed before, so `work` is not called.
 * - `repeat`: The same notification was processed before, so `work` is not called.
 */
export type Outcome = 'applied' | 'late' | 'repeat';

/** The data about a processed notification that `heal` compares with the service's notifications. */
export interface KeptNotification {
  id: string;
  /** The time at which the event was generated, in seconds since 1970. */
  atS: number;
  digest: string;
}

/**
 * Stores processed notifications. Every implementation follows this protocol:
 *
 * 1. All steps run in one transaction. If the id is already stored, the outcome is `repeat`.
 * 2. If the sequence is not above the last sequence of the booking, the outcome is `late`, and the id is stored. If a
 *    notification from the change feed has exactly the last sequence, the outcome is `repeat` instead.
 * 3. Otherwise, `work` is called with the transaction. Then the id and the sequence are stored, and everything is
 *    committed together. The outcome is `applied`.
 * 4. If `work` fails, nothing is stored, and the error is thrown again, so that the service retries.
 *
 * Concurrent calls for one booking are serialized. Never store a notification before its work is committed. If the work
 * were then lost, the next attempt would be answered with 200 as a repeat, and the service would not send the
 * notification again.
 */
export interface NotificationStore<Transaction> {
  /** @param work called with the transaction, and with true if no other booking of the same record had a later event */
  once(
    received: Received,
    work: (transaction: Transaction, isNewestOfRecord: boolean) => Promise<void>,
  ): Promise<Outcome>;
  /** Returns the notifications that were generated at or after `fromS` and before `toS`, in seconds since 1970. */
  kept?(fromS: number, toS: number): Promise<KeptNotification[]>;
}

/** Stores processed notifications in memory only, for a first try and for tests. */
export class MemoryStore implements NotificationStore<undefined> {
  private readonly ids = new Map<string, KeptNotification | null>();
  private readonly last = new Map<string, number>();
  private readonly newest = new Map<string, number>();
  private turns: Promise<unknown> = Promise.resolve();

  once(
    received: Received,
    work: (transaction: undefined, isNewestOfRecord: boolean) => Promise<void>,
  ): Promise<Outcome> {
    const turn = this.turns.then(() => this.take(received, work));
    this.turns = turn.catch(() => undefined);
    return turn;
  }

  kept(fromS: number, toS: number): Promise<KeptNotification[]> {
    const all = [...this.ids.values()].filter((kept) => kept !== null);
    return Promise.resolve(all.filter(({ atS }) => atS >= fromS && atS < toS));
  }

  /**
   * Stores a processed notification in memory. A store on disk overrides this method, and writes the notification to
   * the disk first.
   */
  protected keep({ id, sequence, key, record, atS, digest }: StoredNotification): void {
    this.last.set(key, Math.max(sequence, this.last.get(key) ?? 0));
    this.newest.set(record, Math.max(atS, this.newest.get(record) ?? 0));
    if (id !== null) this.ids.set(id, digest === undefined ? null : { id, atS, digest });
  }

  private async take(
    received: Received,
    work: (transaction: undefined, isNewestOfRecord: boolean) => Promise<void>,
  ): Promise<Outcome> {
    const { id, sequence, notification, digest } = received;
    if (id !== null && this.ids.has(id)) return 'repeat';
    const stored = { id, sequence, digest, ...placeOf(notification) };
    const outcome = outcomeAfter(this.last.get(stored.key) ?? 0, received);
    if (outcome === 'applied') await work(undefined, stored.atS >= (this.newest.get(stored.record) ?? 0));
    if (outcome !== 'repeat') this.keep(stored);
    return outcome;
  }
}

/** The data about a notification that a store needs. */
export interface StoredNotification {
  id: string | null;
  sequence: number;
  /** The key of the booking or, for a change to a record, of the record. `sequence` counts the events of this key. */
  key: string;
  /** The key of the eligibility record. A store compares the times of events to find the newest event of the record. */
  record: string;
  atS: number;
  digest?: string | undefined;
}

/** Returns the booking, the record and the event time of a notification. */
export function placeOf(
  notification: NotificationRequest | RecordChange,
): Pick<StoredNotification, 'key' | 'record' | 'atS'> {
  if (isRecordChange(notification)) {
    const key = `record ${notification.svc_eligiblity_id}`;
    return { key, record: key, atS: Date.parse(notification.at) / 1000 };
  }
  const { booking_code, candidate_id, exam_code, client_eligibility_id, effective_date } = notification;
  const record = client_eligibility_id ?? `${candidate_id}/${exam_code ?? ''}`;
  return { key: booking_code, record, atS: Date.parse(effective_date) / 1000 };
}

/**
 * Decides the outcome of a notification whose id is not stored. `last` is the last stored sequence of its booking, or
 * 0.
 */
export function outcomeAfter(last: number, { id, sequence }: Pick<Received, 'id' | 'sequence'>): Outcome {
  if (sequence > last) return 'applied';
  return id === null && sequence === last ? 'repeat' : 'late';
}
