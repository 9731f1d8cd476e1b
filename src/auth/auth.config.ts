import type { EnvironmentReader } from '../platform/environment-reader.js';
import { oidcSettings, type OidcSettings } from './oidc.config.js';

/** The service's settings for access tokens, refresh tokens and sign-ins. */
export class AuthConfig {
  readonly accessTokenTtlS: number;
  readonly refreshTokenTtlS: number;
  readonly tokenRateLimitPerMinute: number;
  readonly lockoutAttempts: number;
  readonly lockoutS: number;
  /** Whether users with the `admin` or `support` scope may sign in with a password. */
  readonly operatorPasswords: boolean;
  /** The settings of the identity provider for operators; null if there is none. */
  readonly oidc: OidcSettings | null;

  constructor(read: EnvironmentReader) {
    this.accessTokenTtlS = read.integer('ACCESS_TOKEN_TTL_S', 3600, 1, 86_400 * 365);
    this.refreshTokenTtlS = read.integer('REFRESH_TOKEN_TTL_S', 86_400, 1, 86_400 * 365);
    this.tokenRateLimitPerMinute = read.integer('TOKEN_RATE_LIMIT_PER_MINUTE', 60, 0, 1e9);
    this.lockoutAttempts = read.integer('LOCKOUT_ATTEMPTS', 5, 1, 1e6);
    this.lockoutS = read.integer('LOCKOUT_S', 900, 1, 1e9);
    this.operatorPasswords = read.oneOf('OPERATOR_PASSWORDS', 'on', ['on', 'off']) === 'on';
    this.oidc = oidcSettings(read);
  }
}
