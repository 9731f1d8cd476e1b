import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { randomBytes } from 'node:crypto';
import { join, resolve } from 'node:path';
import { EnvironmentReader, type Role } from './environment-reader.js';
import { oidcSettings, type OidcSettings } from './oidc-settings.js';

/**
 * Thrown when the environment is invalid. `faults` has a readable line for each faulty setting, which never contains
 * the value.
 */
export class ConfigError extends Error {
  constructor(readonly faults: string[]) {
    super(faults.join('\n'));
  }
}

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;

/** Reads the environment once and freezes it. docs/configuration.md lists the names and defaults. */
export class Config {
  readonly port: number;
  readonly host: string;
  /**
   * The address of the service, without a trailing slash. With `PORT=0`, it stays empty until the listener has a port.
   */
  baseUrl: string;
  /** The setting `BASE_URL`; null if it is not set. */
  readonly publicUrl: string | null;
  readonly basePath: string;
  readonly databaseUrl: string | null;
  readonly dataDir: string;
  readonly production: boolean;
  readonly sandbox: boolean;
  readonly roles: ReadonlySet<Role>;
  /** The keys that encrypt stored secrets: 32 bytes each, newest first. */
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
  /** The settings of the identity provider for operators; null if there is none. */
  readonly oidc: OidcSettings | null;
  /** The maximum size, in MiB, of the results that an account may store in a day; 0 means no limit. */
  readonly resultMibPerDay: number;
  readonly logLevel: (typeof LOG_LEVELS)[number];
  /** The value of Express's setting `trust proxy`: false, a number of proxies, or a list of networks. */
  readonly trustProxy: boolean | number | string;
  readonly shutdownGraceMs: number;
  readonly metricsPort: number;
  readonly metricsHost: string;
  readonly databasePoolSize: number;
  readonly migrationWaitS: number;
  /** The number of standby databases that must have received an event before it is sent. */
  readonly confirmReplicated: number;
  /** The address of the trace collector (OTLP over HTTP); null disables tracing. */
  readonly otlpEndpoint: string | null;
  readonly securityContact: string | null;
  /** The letter with which every generated code begins; empty for none. */
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
    this.migrationWaitS = migrationWaitS(read);
    this.confirmReplicated = read.integer('CONFIRM_REPLICATED', 0, 0, 100);
    this.otlpEndpoint = read.httpUrl('OTEL_EXPORTER_OTLP_ENDPOINT') ?? null;
    this.securityContact = read.contact('SECURITY_CONTACT');
    this.cell = read.cell('CELL');
    this.secretsKeys = read.secretsKeys('SECRETS_KEY', this.sandbox);
    if (read.faults.length > 0) throw new ConfigError(read.faults);
    if (this.secretsKeys.length === 0) this.secretsKeys = [sandboxSecretsKey(this.dataDir)];
  }

  /** Returns the configuration from the environment of this process. */
  static fromEnvironment(): Config {
    return new Config(process.env);
  }
}

/** Returns the sandbox's encryption key. The first start creates it in `DATA_DIR/secrets.key` (mode 0600). */
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

/** Reads how long a migration waits for another one, in seconds. */
export function migrationWaitS(read: EnvironmentReader): number {
  return read.integer('MIGRATION_WAIT_S', 300, 1, 86_400);
}
