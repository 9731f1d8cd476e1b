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
 * - `applied`: it is new and the newest of its booking; the work was done.
 * - `late`: a newer notification of the booking is known, so nothing is done.
 * - `repeat`: it was processed before.
 */
export type Outcome = 'applied' | 'late' | 'repeat';

/** A processed notification, in the form in which `heal` compares it with the service's notifications. */
export interface KeptNotification {
  id: string;
  /** The time at which the event was generated, in seconds since 1970. */
  atS: number;
  digest: string;
}

/**
 * Stores processed notifications. Every implementation follows this protocol:
 *
 * 1. All steps run in one transaction. A known id is a `repeat`.
 * 2. A sequence that is not above the last sequence of the booking is `late`, and the id is stored. If a notification
 *    from the change feed has exactly the last sequence, it is a `repeat` instead.
 * 3. Otherwise, `work` is called with the transaction. Then the id and the sequence are stored, and everything is
 *    committed together. The outcome is `applied`.
 * 4. When `work` fails, nothing is stored and the error is rethrown: the service will retry.
 *
 * Concurrent calls for one booking are serialized. Never store before the work is committed: after a 200, the service
 * does not send the notification again.
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

  /** Stores a processed notification in memory. A store on disk writes the notification to the disk first. */
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

/** Contains the members of a notification that a store needs. */
export interface StoredNotification {
  id: string | null;
  sequence: number;
  /** Identifies the booking or, for a change to a record, the record whose events `sequence` counts. */
  key: string;
  /** Identifies the eligibility record. A store compares the times of events to find the newest of the record. */
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
 * Decides the outcome of a notification with a new id, from the last known sequence of its booking (0 if none is
 * known).
 */
export function outcomeAfter(last: number, { id, sequence }: Pick<Received, 'id' | 'sequence'>): Outcome {
  if (sequence > last) return 'applied';
  return id === null && sequence === last ? 'repeat' : 'late';
}
