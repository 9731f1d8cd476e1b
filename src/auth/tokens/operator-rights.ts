import type { OidcSettings } from '../oidc.config.js';
import type { Scope } from '../../platform/context/caller.js';
import { ACCOUNT_CODE } from './account-code.js';

/** The scopes and accounts of an operator. */
export interface OperatorRights {
  readonly scopes: readonly Scope[];
  /** The accounts to which the `support` scope is limited. */
  readonly accountCodes: readonly string[];
}

/** Returns the account codes that the names of the groups contain, whether or not these accounts exist. */
export function accountsNamedBy(groups: readonly string[], { supportGroupPrefix }: OidcSettings): string[] {
  if (supportGroupPrefix === null) return [];
  const named = groups.filter((group) => group.startsWith(supportGroupPrefix));
  const codes = named.map((group) => group.slice(supportGroupPrefix.length));
  return [...new Set(codes.filter((code) => ACCOUNT_CODE.test(code)))];
}

/**
 * Returns the rights that the groups grant; null if they grant none.
 * @param known the codes of the existing accounts
 */
export function rightsOf(
  groups: readonly string[],
  known: readonly string[],
  settings: OidcSettings,
): OperatorRights | null {
  const accountCodes = accountsNamedBy(groups, settings).filter((code) => known.includes(code));
  const scopes: Scope[] = [];
  if (settings.adminGroup !== null && groups.includes(settings.adminGroup)) scopes.push('admin');
  if (accountCodes.length > 0) scopes.push('support');
  return scopes.length > 0 ? { scopes, accountCodes } : null;
}

/**
 * Returns the person's groups from the claims of the identity provider; null if the provider omitted them. Providers
 * send a list, a single name, or nothing for a person without groups. A provider that omits the groups sends a
 * distributed claim (OpenID Connect Core §5.6.2) or the `hasgroups` claim instead. Microsoft Entra sends `hasgroups`
 * for more than 200 groups.
 */
export function groupsIn(claims: Readonly<Record<string, unknown>>, groupsClaim: string): string[] | null {
  const claim = claims[groupsClaim];
  if (claim === undefined || claim === null) return areLeftOut(claims, groupsClaim) ? null : [];
  const values = Array.isArray(claim) ? (claim as unknown[]) : [claim];
  // A value that is not a string may be a group that this service cannot read. In this case, the person's groups count
  // as unknown.
  return values.every((value) => typeof value === 'string') ? values : null;
}

function areLeftOut(claims: Readonly<Record<string, unknown>>, groupsClaim: string): boolean {
  const { _claim_names: elsewhere, hasgroups } = claims;
  if (hasgroups === true || hasgroups === 'true') return true;
  return typeof elsewhere === 'object' && elsewhere !== null && Object.hasOwn(elsewhere, groupsClaim);
}

/**
 * Returns the SQL condition for the token families that must be refused. The user (`users`) of such a family is an
 * operator who signed in with a password.
 */
export function isRefusedPassword(byPassword: string, passwordsAreOff: string): string {
  return `(${byPassword} AND ${passwordsAreOff} AND users.scopes && '{admin,support}')`;
}
