/** The time, in milliseconds, for which an IP address is dialled last after a failure. */
const DOUBTED_MS = 5 * 60_000;

/** Remembers the addresses of a partner to which no connection could be opened. */
export class TriedAddresses {
  private readonly doubtedUntil = new Map<string, number>();

  /** Returns the addresses of the partner without duplicates. Addresses that failed recently are last. */
  inOrder(addresses: readonly string[]): string[] {
    const now = performance.now();
    for (const [address, until] of this.doubtedUntil) if (until <= now) this.doubtedUntil.delete(address);
    const isDoubted = (address: string) => Number(this.doubtedUntil.has(address));
    return [...new Set(addresses)].sort((one, other) => isDoubted(one) - isDoubted(other));
  }

  failed(addresses: readonly string[]): void {
    for (const address of addresses) this.doubtedUntil.set(address, performance.now() + DOUBTED_MS);
  }

  /** Records that an address accepted the connection, and that the addresses that were dialled before it did not. */
  worked(address: string, before: readonly string[]): void {
    this.doubtedUntil.delete(address);
    this.failed(before);
  }
}
