import { setTimeout as pause } from 'node:timers/promises';
import type { BookingLoad } from './booking-load.js';
import type { Ledger } from './chaos-ledger.js';
import { query } from '../../../bench/prepare.js';

const SETTLE_MS = 120_000;

/**
 * Waits until the service has delivered everything. The leases of killed processes must first expire, and the partner
 * must be UP again.
 */
export async function settle(url: string): Promise<void> {
  const giveUpAt = Date.now() + SETTLE_MS;
  while (Date.now() < giveUpAt) {
    const [row] = await query(
      url,
      `SELECT (SELECT count(*) FROM deliveries)::int + (SELECT count(*) FROM domain_events WHERE settled_at IS NULL)::int AS left`,
    );
    if (row['left'] === 0) return;
    await pause(250);
  }
}

/**
 * Returns the events that the service no longer retries, but leaves to an operator. The service does this when a
 * partner repeatedly refuses an event but accepts other events. If a partner alternates between failure and success,
 * this can happen to any event.
 */
export async function leftToOperator(url: string): Promise<{ id: string; booking: string }[]> {
  const left = await query(
    url,
    `SELECT id, booking_code AS booking FROM notifications WHERE failure_reason = 'ONLY_THIS_EVENT'`,
  );
  return left as { id: string; booking: string }[];
}

/**
 * Compares the acknowledged changes, and the events that the partner accepted, with the stored bookings and records.
 */
export async function judge(url: string, account: string, load: BookingLoad, ledger: Ledger) {
  const bookings = await query(url, 'SELECT booking_code, event_sequence FROM bookings WHERE account_code = $1', [
    account,
  ]);
  const records = await query(url, 'SELECT stream AS booking_code, sequence AS event_sequence FROM event_streams');
  const committed = new Map(
    [...bookings, ...records].map((row) => [row['booking_code'] as string, row['event_sequence'] as number]),
  );
  const sequences = new Map<string, Set<number>>();
  let [lost, phantom, gaps, duplicates, unexplained] = [0, 0, 0, 0, 0];
  for (const { booking, sequence, at } of ledger.accepted.values()) {
    if (sequence > (committed.get(booking) ?? 0)) phantom += 1;
    const seen = sequences.get(booking) ?? new Set();
    // If an event arrives under a second notification id, it also counts as a phantom (an event without a stored
    // change).
    if (seen.has(sequence)) phantom += 1;
    sequences.set(booking, seen.add(sequence));
    for (let i = 1; i < at.length; i++) {
      duplicates += 1;
      if (!ledger.wasKilledBetween(at[i - 1], at[i])) unexplained += 1;
    }
  }
  for (const [booking, acknowledged] of load.acknowledged) {
    if ((committed.get(booking) ?? 0) < acknowledged) lost += acknowledged - (committed.get(booking) ?? 0);
  }
  for (const [booking, last] of committed) {
    const seen = sequences.get(booking) ?? new Set<number>();
    for (let sequence = 1; sequence <= last; sequence++) if (!seen.has(sequence)) lost += 1;
    if (seen.size > 0 && Math.max(...seen) !== seen.size) gaps += 1;
  }
  return {
    committed: [...committed.values()].reduce((sum, n) => sum + n, 0),
    lost,
    phantom,
    gaps,
    duplicates,
    unexplained,
  };
}

/**
 * Returns the lines of the report on events that were lost, invented or out of order. `bookings` contains the bookings
 * that the model cannot explain.
 */
export function findingsOf(
  { lost, phantom, gaps }: { lost: number; phantom: number; gaps: number },
  { inFlightTwice, overtaken }: Ledger,
  bookings: { count: number; first: string | null },
): string[] {
  return [
    `lost                    ${lost}`,
    `phantom                 ${phantom}`,
    `gaps                    ${gaps}`,
    `in flight twice         ${inFlightTwice}`,
    `overtaken               ${overtaken}`,
    `unexplained bookings    ${bookings.count}${bookings.first === null ? '' : `; ${bookings.first}`}`,
  ];
}
