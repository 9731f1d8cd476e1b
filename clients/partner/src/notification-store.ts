import type { NotificationRequest } from './notification-request.js';

/** One notification, by a push or out of the change feed. */
export interface Received {
  /** `webhook-id`, the same on every attempt; null out of the feed. */
  id: string | null;
  /** `event-sequence`: 1, 2, 3 … of the booking. */
  sequence: number;
  notification: NotificationRequest;
}

/**
 * - `applied`: new, and the newest of its booking; the work was done.
 * - `late`: something newer of the booking is known, so nothing is to change.
 * - `repeat`: it was taken before.
 */
export type Outcome = 'applied' | 'late' | 'repeat';

/**
 * Remembers what was taken. The protocol that an implementation keeps:
 *
 * 1. In one transaction: an id that is known is a `repeat`.
 * 2. A sequence that is not above the booking's last is `late` (of the feed: `repeat` when it is the last); the id is remembered.
 * 3. Else `work` is called with the transaction, then id and sequence are remembered, and all is committed together: `applied`.
 * 4. When `work` fails, nothing is remembered, and the error is thrown on: the service will send again.
 *
 * Two calls for one booking at the same time wait for one another. Never remember before the work is committed: the
 * service takes a 200 as done and does not come back.
 */
export interface NotificationStore<Transaction> {
  once(received: Received, work: (transaction: Transaction) => Promise<void>): Promise<Outcome>;
}

/** For a first try and for tests: what it knows ends with the process. */
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

/** Decides on a notification whose id is new, after the last sequence known of its booking (0: none). */
export function outcomeAfter(last: number, { id, sequence }: Pick<Received, 'id' | 'sequence'>): Outcome {
  if (sequence > last) return 'applied';
  return id === null && sequence === last ? 'repeat' : 'late';
}
