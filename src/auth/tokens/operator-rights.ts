import type { OidcSettings } from '../../oidc-settings.js';
import type { Scope } from '../../platform/context/caller.js';
import { ACCOUNT_CODE } from './account-code.js';

/** The rights of an operator. */
export interface OperatorRights {
  readonly scopes: readonly Scope[];
  /** The accounts for which `support` is valid. */
  readonly accountCodes: readonly string[];
}

/** Returns the accounts that groups name, known or not. */
export function accountsNamedBy(groups: readonly string[], { supportGroupPrefix }: OidcSettings): string[] {
  if (supportGroupPrefix === null) return [];
  const named = groups.filter((group) => group.startsWith(supportGroupPrefix));
  const codes = named.map((group) => group.slice(supportGroupPrefix.length));
  return [...new Set(codes.filter((code) => ACCOUNT_CODE.test(code)))];
}

/** Returns the rights that groups give, or null for none; `known` are the existing accounts. */
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
 * Returns the groups in the claims; null when the claims omit them. Providers send a list, one name, or nothing for a
 * person without groups. A provider reports omitted groups by a distributed claim (OpenID Connect Core §5.6.2) or by
 * `hasgroups`, as Microsoft Entra does for more than 200.
 */
export function groupsIn(claims: Readonly<Record<string, unknown>>, groupsClaim: string): string[] | null {
  const claim = claims[groupsClaim];
  if (claim === undefined || claim === null) return areLeftOut(claims, groupsClaim) ? null : [];
  const values = Array.isArray(claim) ? (claim as unknown[]) : [claim];
  // A value that is not a string may be an unreadable group: unknown groups do not mean no groups.
  return values.every((value) => typeof value === 'string') ? values : null;
}

function areLeftOut(claims: Readonly<Record<string, unknown>>, groupsClaim: string): boolean {
  const { _claim_names: elsewhere, hasgroups } = claims;
  if (hasgroups === true || hasgroups === 'true') return true;
  return typeof elsewhere === 'object' && elsewhere !== null && Object.hasOwn(elsewhere, groupsClaim);
}

/**
 * Builds the SQL condition that password families of operators are refused: the family came from a password, and its
 * user (`users`) is an operator.
 */
export function isRefusedPassword(byPassword: string, passwordsAreOff: string): string {
  return `(${byPassword} AND ${passwordsAreOff} AND users.scopes && '{admin,support}')`;
}
