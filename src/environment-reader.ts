import { BlockList, isIP } from 'node:net';
import { parseDatabaseUrl } from './platform/database/database-url.js';
import { withSecretFiles } from './secret-files.js';

export type Role = 'api' | 'delivery';

/** Reads variables of the environment and collects their faults, so that one error names all of them. */
export class EnvironmentReader {
  readonly faults: string[] = [];

  private readonly env: NodeJS.ProcessEnv;

  constructor(env: NodeJS.ProcessEnv) {
    this.env = withSecretFiles(env, (name, what) => this.fault(name, what));
  }

  fault(name: string, what: string): void {
    this.faults.push(`${name} ${what}`);
  }

  text(name: string, fallback: string): string {
    return this.raw(name) ?? fallback;
  }

  number(name: string, fallback: number, min: number, max = Number.MAX_SAFE_INTEGER): number {
    const raw = this.raw(name);
    if (raw === undefined) return fallback;
    const value = /^\d+(\.\d+)?$/.test(raw) ? Number(raw) : NaN;
    if (value >= min && value <= max) return value;
    this.fault(name, `must be a number from ${min} to ${max}`);
    return fallback;
  }

  integer(name: string, fallback: number, min: number, max: number): number {
    const raw = this.raw(name);
    if (raw === undefined) return fallback;
    const value = /^\d+$/.test(raw) ? Number(raw) : NaN;
    if (value >= min && value <= max) return value;
    this.fault(name, `must be a whole number from ${min} to ${max}`);
    return fallback;
  }

  boolean(name: string, fallback: boolean): boolean {
    const raw = this.raw(name)?.toLowerCase();
    if (raw === undefined) return fallback;
    if (raw === 'true' || raw === '1') return true;
    if (raw === 'false' || raw === '0') return false;
    this.fault(name, 'must be true or false');
    return fallback;
  }

  oneOf<T extends string>(name: string, fallback: T, allowed: readonly T[]): T {
    const raw = this.raw(name);
    if (raw === undefined) return fallback;
    if ((allowed as readonly string[]).includes(raw)) return raw as T;
    this.fault(name, `must be one of ${allowed.join(', ')}`);
    return fallback;
  }

  numbers(name: string, fallback: number[]): number[] {
    const raw = this.raw(name);
    if (raw === undefined) return fallback;
    const parts = raw.split(',').map((part) => part.trim());
    if (parts.every((part) => /^\d+(\.\d+)?$/.test(part))) return parts.map(Number);
    this.fault(name, 'must be a comma-separated list of seconds');
    return fallback;
  }

  roles(name: string): ReadonlySet<Role> {
    const parts = this.text(name, 'api,delivery')
      .split(',')
      .map((part) => part.trim());
    if (parts.some((part) => part !== 'api' && part !== 'delivery'))
      this.fault(name, 'must list api, delivery or both');
    return new Set(parts as Role[]);
  }

  networks(name: string, fallback: string[]): string[] {
    const raw = this.raw(name);
    if (raw === undefined) return fallback;
    const parts = raw
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '');
    if (!parts.every(isNetwork)) this.fault(name, 'must be a comma-separated list of networks such as 10.0.0.0/8');
    return parts;
  }

  databaseUrl(name: string): string | null {
    const raw = this.raw(name);
    if (raw === undefined) return null;
    try {
      parseDatabaseUrl(raw);
    } catch (error) {
      this.fault(name, (error as Error).message);
    }
    return raw;
  }

  cell(name: string): string {
    const raw = this.text(name, '');
    if (!/^[A-HJKMNP-TV-Z2-9]?$/.test(raw)) this.fault(name, 'must be one of ABCDEFGHJKMNPQRSTVWXYZ23456789');
    return raw;
  }

  httpUrl(name: string): string | undefined {
    const raw = this.raw(name);
    if (raw === undefined) return undefined;
    const url = URL.canParse(raw) ? new URL(raw) : null;
    if (!url || !/^https?:$/.test(url.protocol) || url.search !== '' || url.hash !== '')
      this.fault(name, 'must be an http(s) URL without query and fragment');
    return raw.replace(/\/+$/, '');
  }

  contact(name: string): string | null {
    const raw = this.raw(name) ?? null;
    if (raw && !/^(mailto:\S+@\S+|https:\/\/\S+)$/.test(raw)) this.fault(name, 'must be a mailto: or https: address');
    return raw;
  }

  basePath(name: string): string {
    const raw = this.text(name, '').replace(/\/+$/, '');
    if (raw !== '' && !/^(\/[A-Za-z0-9._~-]+)+$/.test(raw)) this.fault(name, 'must be a path such as /v1');
    return raw;
  }

  trustProxy(name: string): boolean | number | string {
    const raw = this.text(name, 'off').toLowerCase();
    if (raw === 'off' || raw === 'false') return false;
    if (/^\d{1,2}$/.test(raw)) return Number(raw);
    const networks = raw.split(',').map((part) => part.trim());
    const named = ['loopback', 'linklocal', 'uniquelocal'];
    if (networks.every((network) => named.includes(network) || isIP(network) !== 0 || isNetwork(network)))
      return networks.join(',');
    this.fault(name, 'must be off, a number of hops, or a list of networks');
    return false;
  }

  secretsKeys(name: string, mayBeMissing: boolean): Buffer[] {
    const raw = this.raw(name);
    if (raw === undefined) {
      if (!mayBeMissing) this.fault(name, 'is required: 32 random bytes in base64 (openssl rand -base64 32)');
      return [];
    }
    const keys = raw.split(',').map((part) => part.trim());
    if (!keys.every((key) => /^[A-Za-z0-9+/]{43}=$/.test(key)))
      this.fault(name, 'must be 32 bytes in base64, or a comma-separated list of such keys, newest first');
    return keys.map((key) => Buffer.from(key, 'base64'));
  }

  raw(name: string): string | undefined {
    const value = this.env[name]?.trim();
    return value === '' ? undefined : value;
  }
}

function isNetwork(text: string): boolean {
  const [address = '', prefix = '', ...rest] = text.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0 || !/^\d{1,3}$/.test(prefix)) return false;
  try {
    new BlockList().addSubnet(address, Number(prefix), family === 4 ? 'ipv4' : 'ipv6');
    return true;
  } catch {
    return false;
  }
}
