import type { EnvironmentReader } from '../platform/environment-reader.js';
import { parseUrl } from '../platform/urls.js';

/** The settings of the OpenID Connect provider for operators, and the groups that grant rights. */
export interface OidcSettings {
  readonly issuer: URL;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly groupsClaim: string;
  /** The name of the group whose members get the `admin` scope; null if there is no such group. */
  readonly adminGroup: string | null;
  /**
   * The prefix of group names that grant `support` for an account. In the name of a group, the account code follows the
   * prefix. Null if no prefix is configured.
   */
  readonly supportGroupPrefix: string | null;
}

/**
 * Returns the settings of the OpenID Connect provider; null if none of them is set. If any of them is set, all required
 * settings must be set.
 */
export function oidcSettings(read: Pick<EnvironmentReader, 'raw' | 'fault'>): OidcSettings | null {
  const issuer = read.raw('OIDC_ISSUER');
  const clientId = read.raw('OIDC_CLIENT_ID');
  const clientSecret = read.raw('OIDC_CLIENT_SECRET');
  const adminGroup = read.raw('OIDC_ADMIN_GROUP') ?? null;
  const supportGroupPrefix = read.raw('OIDC_SUPPORT_GROUP_PREFIX') ?? null;
  if (issuer === undefined) {
    for (const name of ['OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET', 'OIDC_ADMIN_GROUP', 'OIDC_SUPPORT_GROUP_PREFIX'])
      if (read.raw(name) !== undefined) read.fault(name, 'is of no use without OIDC_ISSUER');
    return null;
  }
  const url = parseUrl(issuer);
  const local = url?.protocol === 'http:' && /^(localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname);
  if (!url || !(url.protocol === 'https:' || local) || url.search !== '' || url.hash !== '')
    read.fault('OIDC_ISSUER', 'must be an https URL without query and fragment');
  if (clientId === undefined) read.fault('OIDC_CLIENT_ID', 'is required with OIDC_ISSUER');
  if (clientSecret === undefined) read.fault('OIDC_CLIENT_SECRET', 'is required with OIDC_ISSUER');
  if (adminGroup === null && supportGroupPrefix === null)
    read.fault(
      'OIDC_ADMIN_GROUP',
      'or OIDC_SUPPORT_GROUP_PREFIX is required with OIDC_ISSUER, because otherwise nobody could sign in',
    );
  if (!url || clientId === undefined || clientSecret === undefined) return null;
  const groupsClaim = read.raw('OIDC_GROUPS_CLAIM') ?? 'groups';
  return { issuer: url, clientId, clientSecret, groupsClaim, adminGroup, supportGroupPrefix };
}
