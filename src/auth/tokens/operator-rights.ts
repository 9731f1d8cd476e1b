import type { OidcSettings } from '../../oidc-settings.js';
import type { Scope } from '../../platform/context/caller.js';
import { ACCOUNT_CODE } from './account-code.js';

/** The rights of an operator. */
export interface OperatorRights {
  readonly scopes: readonly Scope[];
  /** The accounts that `support` is for. */
  readonly accountCodes: readonly string[];
}

/** The accounts that groups name, known or not. */
export function accountsNamedBy(groups: readonly string[], { supportGroupPrefix }: OidcSettings): string[] {
  if (supportGroupPrefix === null) return [];
  const named = groups.filter((group) => group.startsWith(supportGroupPrefix));
  const codes = named.map((group) => group.slice(supportGroupPrefix.length));
  return [...new Set(codes.filter((code) => ACCOUNT_CODE.test(code)))];
}

/** Returns the rights that groups give; `known` are the accounts that exist. Null: none. */
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
 * The groups that claims name; null when they do not tell them. Providers send a list, one name, or nothing for somebody
 * without a group. A provider leaves the groups out, and says so, by a distributed claim (OpenID Connect Core §5.6.2) or by
 * `hasgroups`: Microsoft Entra does for more than 200.
 */
export function groupsIn(claims: Readonly<Record<string, unknown>>, groupsClaim: string): string[] | null {
  const claim = claims[groupsClaim];
  if (claim === undefined || claim === null) return areLeftOut(claims, groupsClaim) ? null : [];
  const values = Array.isArray(claim) ? (claim as unknown[]) : [claim];
  // A value that is no name may be a group that cannot be read: unknown is not none.
  return values.every((value) => typeof value === 'string') ? values : null;
}

function areLeftOut(claims: Readonly<Record<string, unknown>>, groupsClaim: string): boolean {
  const { _claim_names: elsewhere, hasgroups } = claims;
  if (hasgroups === true || hasgroups === 'true') return true;
  return typeof elsewhere === 'object' && elsewhere !== null && Object.hasOwn(elsewhere, groupsClaim);
}

/** The SQL of: a family got by a password, while passwords of operators are off and its user (`users`) is one. */
export function isRefusedPassword(byPassword: string, passwordsAreOff: string): string {
  return `(${byPassword} AND ${passwordsAreOff} AND users.scopes && '{admin,support}')`;
}
