/** How long an address is tried last. */
const DOUBTED_MS = 5 * 60_000;

/** The addresses of one partner with which no connection came about, on the clock of this process. */
export class TriedAddresses {
  private readonly doubtedUntil = new Map<string, number>();

  /** The same addresses, each once; those that failed lately come last. */
  inOrder(addresses: readonly string[]): string[] {
    const now = performance.now();
    for (const [address, until] of this.doubtedUntil) if (until <= now) this.doubtedUntil.delete(address);
    const isDoubted = (address: string) => Number(this.doubtedUntil.has(address));
    return [...new Set(addresses)].sort((one, other) => isDoubted(one) - isDoubted(other));
  }

  failed(addresses: readonly string[]): void {
    for (const address of addresses) this.doubtedUntil.set(address, performance.now() + DOUBTED_MS);
  }

  /** One has a connection, and those that began before it have none. */
  worked(address: string, before: readonly string[]): void {
    this.doubtedUntil.delete(address);
    this.failed(before);
  }
}
