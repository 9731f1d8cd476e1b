import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { BlockList, isIP } from 'node:net';
import { join, resolve } from 'node:path';
import { oidcSettings, type OidcSettings } from './oidc-settings.js';
import { parseDatabaseUrl } from './platform/database/database-url.js';
import { withSecretFiles } from './secret-files.js';

/** Thrown when the environment is invalid; `faults` has one readable line for each faulty setting, never its value. */
export class ConfigError extends Error {
  constructor(readonly faults: string[]) {
    super(faults.join('\n'));
  }
}

export type Role = 'api' | 'delivery';
export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** Reads the environment once and freezes it. docs/configuration.md lists the names and defaults. */
export class Config {
  readonly port: number;
  readonly host: string;
  /** Without a trailing slash. With `PORT=0` it stays empty until the listener has a port. */
  baseUrl: string;
  /** `BASE_URL` as configured. */
  readonly publicUrl: string | null;
  readonly basePath: string;
  readonly databaseUrl: string | null;
  readonly dataDir: string;
  readonly production: boolean;
  readonly sandbox: boolean;
  readonly roles: ReadonlySet<Role>;
  /** 32-byte keys, newest first. */
  readonly secretsKeys: readonly Buffer[];
  readonly accessTokenTtlS: number;
  readonly refreshTokenTtlS: number;
  readonly notificationWaitMs: number;
  readonly notificationConcurrency: number;
  readonly notificationConcurrencyPerPartner: number;
  readonly notificationRetentionDays: number;
  readonly changesRetentionDays: number;
  readonly retryScheduleS: readonly number[];
  readonly retryGiveUpH: number;
  readonly partnerAllowedNetworks: readonly string[];
  readonly rateLimitPerMinute: number;
  readonly tokenRateLimitPerMinute: number;
  readonly lockoutAttempts: number;
  readonly lockoutS: number;
  /** Whether users with the scope `admin` or `support` may sign in with a password. */
  readonly operatorPasswords: boolean;
  /** The identity provider for operators; null when there is none. */
  readonly oidc: OidcSettings | null;
  /** The limit of results stored in a day for an account, in MiB; 0 means no limit. */
  readonly resultMibPerDay: number;
  readonly logLevel: (typeof LOG_LEVELS)[number];
  /** Express's `trust proxy` value: false, a number of hops, or a list of networks. */
  readonly trustProxy: boolean | number | string;
  readonly shutdownGraceMs: number;
  readonly metricsPort: number;
  readonly metricsHost: string;
  readonly databasePoolSize: number;
  readonly migrationWaitS: number;
  /** The number of standbys that must have an event before it is sent. */
  readonly confirmReplicated: number;
  /** The collector of spans, by OTLP over HTTP; null disables tracing. */
  readonly otlpEndpoint: string | null;
  readonly securityContact: string | null;
  /** A letter that prefixes every generated code, or nothing. */
  readonly cell: string;

  constructor(env: NodeJS.ProcessEnv) {
    const read = new EnvironmentReader(env);
    this.production = env['NODE_ENV'] === 'production';
    this.databaseUrl = read.databaseUrl('DATABASE_URL');
    this.sandbox = read.boolean('SANDBOX', !this.production && this.databaseUrl === null);
    if (this.sandbox && this.production) read.fault('SANDBOX', 'must not be true when NODE_ENV=production');
    this.dataDir = resolve(read.text('DATA_DIR', './data'));
    this.port = read.integer('PORT', 3000, 0, 65535);
    this.host = read.text('HOST', this.sandbox ? '127.0.0.1' : '0.0.0.0');
    this.basePath = read.basePath('BASE_PATH');
    this.publicUrl = read.httpUrl('BASE_URL') ?? null;
    this.baseUrl = this.publicUrl ?? (this.port === 0 ? '' : `http://localhost:${this.port}${this.basePath}`);
    this.roles = read.roles('ROLES');
    this.accessTokenTtlS = read.integer('ACCESS_TOKEN_TTL_S', 3600, 1, 86_400 * 365);
    this.refreshTokenTtlS = read.integer('REFRESH_TOKEN_TTL_S', 86_400, 1, 86_400 * 365);
    this.notificationWaitMs = read.integer('NOTIFICATION_WAIT_MS', 10_000, 100, 600_000);
    this.notificationConcurrency = read.integer('NOTIFICATION_CONCURRENCY', 64, 1, 10_000);
    this.notificationConcurrencyPerPartner = read.integer('NOTIFICATION_CONCURRENCY_PER_PARTNER', 16, 1, 10_000);
    this.notificationRetentionDays = read.integer('NOTIFICATION_RETENTION_DAYS', 90, 1, 36_500);
    this.changesRetentionDays = read.integer('CHANGES_RETENTION_DAYS', 400, 1, 36_500);
    this.retryScheduleS = read.numbers('RETRY_SCHEDULE_S', [5, 30, 120, 300, 900, 1800, 3600]);
    this.retryGiveUpH = read.number('RETRY_GIVE_UP_H', 24, 0);
    this.partnerAllowedNetworks = read.networks(
      'PARTNER_ALLOWED_NETWORKS',
      this.sandbox ? ['127.0.0.0/8', '::1/128'] : [],
    );
    this.rateLimitPerMinute = read.integer('RATE_LIMIT_PER_MINUTE', 6000, 0, 1e9);
    this.tokenRateLimitPerMinute = read.integer('TOKEN_RATE_LIMIT_PER_MINUTE', 60, 0, 1e9);
    this.lockoutAttempts = read.integer('LOCKOUT_ATTEMPTS', 5, 1, 1e6);
    this.lockoutS = read.integer('LOCKOUT_S', 900, 1, 1e9);
    this.operatorPasswords = read.oneOf('OPERATOR_PASSWORDS', 'on', ['on', 'off']) === 'on';
    this.oidc = oidcSettings(read);
    this.resultMibPerDay = read.integer('RESULT_MIB_PER_DAY', 16_384, 0, 1e9);
    this.logLevel = read.oneOf('LOG_LEVEL', 'info', LOG_LEVELS);
    this.trustProxy = read.trustProxy('TRUST_PROXY');
    this.shutdownGraceMs = read.integer('SHUTDOWN_GRACE_MS', 10_000, 0, 600_000);
    this.metricsPort = read.integer('METRICS_PORT', 9464, 0, 65535);
    this.metricsHost = read.text('METRICS_HOST', '127.0.0.1');
    this.databasePoolSize = read.integer('DATABASE_POOL_SIZE', 10, 2, 1000);
    this.migrationWaitS = read.integer('MIGRATION_WAIT_S', 300, 1, 86_400);
    this.confirmReplicated = read.integer('CONFIRM_REPLICATED', 0, 0, 100);
    this.otlpEndpoint = read.httpUrl('OTEL_EXPORTER_OTLP_ENDPOINT') ?? null;
    this.securityContact = read.contact('SECURITY_CONTACT');
    this.cell = read.cell('CELL');
    this.secretsKeys = read.secretsKeys('SECRETS_KEY', this.sandbox);
    if (read.faults.length > 0) throw new ConfigError(read.faults);
    if (this.secretsKeys.length === 0) this.secretsKeys = [sandboxSecretsKey(this.dataDir)];
  }

  /** Returns the configuration of this process's environment. */
  static fromEnvironment(): Config {
    return new Config(process.env);
  }
}

/** Returns the sandbox's key, which its first start creates in `DATA_DIR/secrets.key` (mode 0600). */
function sandboxSecretsKey(dataDir: string): Buffer {
  const file = join(dataDir, 'secrets.key');
  mkdirSync(dataDir, { recursive: true });
  try {
    writeFileSync(file, randomBytes(32).toString('base64') + '\n', { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const key = Buffer.from(readFileSync(file, 'utf8').trim(), 'base64');
  if (key.length !== 32) throw new ConfigError(['DATA_DIR: secrets.key does not hold 32 bytes in base64']);
  return key;
}

/** Reads single variables and collects their faults, so that one error names all of them. */
class EnvironmentReader {
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
