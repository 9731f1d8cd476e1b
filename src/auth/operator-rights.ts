import type { OidcSettings } from '../oidc-settings.js';
import type { Scope } from '../platform/context/caller.js';

/** What an operator may do. */
export interface OperatorRights {
  readonly scopes: readonly Scope[];
  /** The accounts that `support` is for. */
  readonly accountCodes: readonly string[];
}

/** The accounts that groups name, known or not. */
export function accountsNamedBy(groups: readonly string[], { supportGroupPrefix }: OidcSettings): string[] {
  if (supportGroupPrefix === null) return [];
  const named = groups.filter((group) => group.startsWith(supportGroupPrefix));
  return [...new Set(named.map((group) => group.slice(supportGroupPrefix.length)))];
}

/** What the groups give, of which `known` are the accounts that exist; null: nothing. */
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

/** The groups in a claim: providers send a list, or one name. */
export function groupsIn(claim: unknown): string[] {
  const values = Array.isArray(claim) ? (claim as unknown[]) : [claim];
  return values.filter((value) => typeof value === 'string');
}
