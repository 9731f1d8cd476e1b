import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Resolver } from 'node:dns/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { timeLimit } from '../../platform/time-limit.js';

/** Returns all addresses of a host name, in the order in which to dial them. The signal cancels the look-up. */
export type AddressLookup = (host: string, signal?: AbortSignal) => Promise<string[]>;

/** The time limit of a look-up, in milliseconds. Stub resolvers usually have this limit. */
const LOOKUP_MS = 5_000;
/** The time to wait for the second address family after the first one has answered (RFC 8305 §3), in milliseconds. */
const RESOLUTION_DELAY_MS = 50;
const MOST_KEPT_MS = 30_000;
const HOSTS_KEPT_MS = 1_000;
const LOOPBACK = ['127.0.0.1', '::1'];

interface Found {
  addresses: string[];
  ttlMs: number;
}

interface LookUp {
  readonly found: Promise<string[]>;
  readonly abandon: () => void;
  waiting: number;
}

/**
 * Resolves names without getaddrinfo. A call to getaddrinfo cannot be cancelled, and occupies one of the process's few
 * threads while a name server is silent. A few names with a silent name server would therefore delay healthy partners.
 *
 * 1. The hosts file comes first; `localhost` is always loopback (RFC 6761 §6.3).
 * 2. For any other name, IPv4 and IPv6 addresses are queried at the same time. Each look-up has its own resolver, and
 *    each name has only one look-up at a time.
 * 3. A look-up ends with its answers, after five seconds, or when no caller waits for it any more.
 * 4. Addresses are cached for their time to live, but for at most half a minute. Failures are not cached.
 */
export class PartnerNames {
  private readonly kept = new Map<string, { addresses: string[]; until: number }>();
  private readonly underWay = new Map<string, LookUp>();
  private hosts: { names: Map<string, string[]>; until: number } = { names: new Map(), until: 0 };

  /**
   * Creates a resolver of host names.
   * @param servers name servers that are used instead of the system's name servers
   */
  constructor(
    private readonly servers: readonly string[] | null = null,
    private readonly hostsFile = systemHostsFile(),
  ) {}

  /**
   * Looks up a name. Rejects with the error code of c-ares (`ENOTFOUND`, `ETIMEOUT`, `ESERVFAIL` …), or with the reason
   * of the signal.
   */
  readonly lookup: AddressLookup = async (name, signal) => {
    const host = name.toLowerCase();
    const listed = (await this.hostNames()).get(host);
    if (listed) return listed;
    if (host === 'localhost' || host.endsWith('.localhost')) return LOOPBACK;
    const kept = this.kept.get(host);
    if (kept && performance.now() < kept.until) return kept.addresses;
    return this.join(host, signal);
  };

  private async join(host: string, signal?: AbortSignal): Promise<string[]> {
    let lookUp = this.underWay.get(host);
    if (lookUp === undefined) this.underWay.set(host, (lookUp = this.begin(host)));
    lookUp.waiting += 1;
    try {
      return await unlessAborted(lookUp.found, signal);
    } finally {
      lookUp.waiting -= 1;
      if (lookUp.waiting === 0) lookUp.abandon();
    }
  }

  private begin(host: string): LookUp {
    // Two tries per look-up suffice: if both DNS queries are lost, only this delivery attempt fails, and it is retried
    // later.
    const resolver = new Resolver({ timeout: LOOKUP_MS / 2, tries: 2 });
    if (this.servers) resolver.setServers(this.servers);
    const limit = timeLimit(LOOKUP_MS, () => resolver.cancel());
    const found = ask(resolver, host)
      .then(({ addresses, ttlMs }) => {
        this.keep(host, addresses, ttlMs);
        return addresses;
      })
      .finally(() => {
        clearTimeout(limit);
        this.underWay.delete(host);
      });
    // The callers that wait for the look-up get its error. If no caller waits, the error is ignored.
    found.catch(() => undefined);
    return { found, abandon: () => resolver.cancel(), waiting: 0 };
  }

  private keep(host: string, addresses: string[], ttlMs: number): void {
    const now = performance.now();
    for (const [other, { until }] of this.kept) if (until <= now) this.kept.delete(other);
    this.kept.set(host, { addresses, until: now + Math.min(ttlMs, MOST_KEPT_MS) });
  }

  private async hostNames(): Promise<Map<string, string[]>> {
    if (performance.now() >= this.hosts.until) {
      const text = await readFile(this.hostsFile, 'utf8').catch(() => '');
      this.hosts = { names: parseHosts(text), until: performance.now() + HOSTS_KEPT_MS };
    }
    return this.hosts.names;
  }
}

/** Looks up names in the system's hosts file and with its name servers. */
export const systemLookup: AddressLookup = new PartnerNames().lookup;

async function ask(resolver: Resolver, host: string): Promise<Found> {
  const families = [resolver.resolve6(host, { ttl: true }), resolver.resolve4(host, { ttl: true })] as const;
  try {
    await Promise.any(families);
    await Promise.race([Promise.allSettled(families), pause(RESOLUTION_DELAY_MS)]);
  } catch (error) {
    throw theGraver((error as AggregateError).errors as NodeJS.ErrnoException[]);
  } finally {
    resolver.cancel();
  }
  const [v6, v4] = (await Promise.allSettled(families)).map((answer) =>
    answer.status === 'fulfilled' ? answer.value : [],
  );
  return {
    addresses: interleaved(v6, v4).map(({ address }) => address),
    ttlMs: 1000 * Math.min(...[...v6, ...v4].map(({ ttl }) => ttl)),
  };
}

/**
 * Returns the more informative of two errors. An error is less informative if it only means that a name has no
 * addresses of one family. A cancelled look-up counts as a look-up that took too long.
 */
function theGraver(errors: NodeJS.ErrnoException[]): NodeJS.ErrnoException {
  const grave = errors.find(({ code }) => code !== 'ENODATA') ?? errors[0];
  return grave.code === 'ECANCELLED' ? Object.assign(new Error('ETIMEOUT'), { code: 'ETIMEOUT' }) : grave;
}

/** Returns the addresses of both families in alternating order (RFC 8305 §4). */
function interleaved<T>(first: readonly T[], second: readonly T[]): T[] {
  const longest = Math.max(first.length, second.length);
  return Array.from({ length: longest }, (_, index) => [
    ...first.slice(index, index + 1),
    ...second.slice(index, index + 1),
  ]).flat();
}

function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

function parseHosts(text: string): Map<string, string[]> {
  const names = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address, ...aliases] = line.replace(/#.*$/, '').trim().split(/\s+/);
    for (const alias of aliases) {
      const addresses = names.get(alias.toLowerCase());
      if (addresses) addresses.push(address);
      else names.set(alias.toLowerCase(), [address]);
    }
  }
  return names;
}

function systemHostsFile(): string {
  const { SystemRoot = 'C:\\Windows' } = process.env;
  return process.platform === 'win32' ? join(SystemRoot, 'System32', 'drivers', 'etc', 'hosts') : '/etc/hosts';
}
