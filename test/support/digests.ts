import { createHash } from 'node:crypto';

/** A notification as a partner stores it. */
export interface Kept {
  readonly id: string;
  readonly event_sequence: number;
  readonly body: string;
}

const NOTHING = '0'.repeat(64);

/** Returns the digest of a notification, as the contract with partners defines it. */
export function digestOf({ id, event_sequence, body }: Kept): bigint {
  const hash = createHash('sha256').update(`${id}\n${event_sequence}\n${body}`).digest('hex');
  return BigInt(`0x${hash}`);
}

/**
 * Returns a function that computes the number and the digest of the kept notifications that were generated in a period.
 * The running sums over the sorted notifications are computed only once.
 */
export function digestsOf(kept: readonly Kept[]): (from: string, to: string) => { count: number; digest: string } {
  const sorted = kept
    .map((one) => ({ at: (JSON.parse(one.body) as { effective_date: string }).effective_date, digest: digestOf(one) }))
    .sort((a, b) => (a.at < b.at ? -1 : 1));
  const sums = [0n];
  for (const { digest } of sorted) sums.push(sums.at(-1)! ^ digest);
  const before = (at: string): number => {
    let [low, high] = [0, sorted.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (sorted[middle].at < at) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  return (from, to) => {
    const [first, end] = [before(from), before(to)];
    return { count: end - first, digest: (sums[first] ^ sums[end]).toString(16).padStart(NOTHING.length, '0') };
  };
}
