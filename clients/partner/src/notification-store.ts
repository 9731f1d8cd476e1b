import type { NotificationRequest } from './notification-request.js';

/** A received notification, from a push or from the change feed. */
export interface Received {
  /** The value of `webhook-id`, which is the same on every attempt; null for a notification from the change feed. */
  id: string | null;
  /** The value of `event-sequence`: 1, 2, 3 … within the booking. */
  sequence: number;
  notification: NotificationRequest;
}

/**
 * The outcome of a notification:
 *
 * - `applied`: it is new and the newest of its booking; the work was done.
 * - `late`: a newer notification of the booking is known, so that nothing changes.
 * - `repeat`: it was processed before.
 */
export type Outcome = 'applied' | 'late' | 'repeat';

/**
 * Stores processed notifications. Every implementation keeps this protocol:
 *
 * 1. In one transaction: a known id is a `repeat`.
 * 2. A sequence that is not above the booking's last is `late` (from the feed: `repeat` when it equals the last); the
 *    id is stored.
 * 3. Otherwise `work` is called with the transaction, id and sequence are stored, and everything is committed together:
 *    `applied`.
 * 4. When `work` fails, nothing is stored and the error is rethrown: the service will retry.
 *
 * Concurrent calls for one booking are serialized. Never store before the work is committed: the service treats a 200
 * as done and does not send again.
 */
export interface NotificationStore<Transaction> {
  once(received: Received, work: (transaction: Transaction) => Promise<void>): Promise<Outcome>;
}

/** Stores processed notifications in memory only, for a first try and for tests. */
export class MemoryStore implements NotificationStore<undefined> {
  private readonly ids = new Set<string>();
  private readonly last = new Map<string, number>();
  private turns: Promise<unknown> = Promise.resolve();

  once(received: Received, work: (transaction: undefined) => Promise<void>): Promise<Outcome> {
    const turn = this.turns.then(() => this.take(received, work));
    this.turns = turn.catch(() => undefined);
    return turn;
  }

  private async take(
    { id, sequence, notification }: Received,
    work: (transaction: undefined) => Promise<void>,
  ): Promise<Outcome> {
    const { booking_code } = notification;
    if (id !== null && this.ids.has(id)) return 'repeat';
    const last = this.last.get(booking_code) ?? 0;
    const outcome = outcomeAfter(last, { id, sequence });
    if (outcome === 'applied') {
      await work(undefined);
      this.last.set(booking_code, sequence);
    }
    if (id !== null) this.ids.add(id);
    return outcome;
  }
}

/**
 * Decides the outcome of a notification with a new id, from the last known sequence of its booking (0 if none is
 * known).
 */
export function outcomeAfter(last: number, { id, sequence }: Pick<Received, 'id' | 'sequence'>): Outcome {
  if (sequence > last) return 'applied';
  return id === null && sequence === last ? 'repeat' : 'late';
}
