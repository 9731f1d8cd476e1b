import type { Scope } from '../../platform/context/caller.js';

/** RFC 6749 §3.3: scope tokens separated by one space each. */
const SCOPE_LIST = /^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/;

/**
 * Returns the granted scopes: all requested ones or, without a request, all that every holder has.
 * Null when some holder lacks a requested scope, or when nothing is left to grant.
 */
export function grantedScopes(asked: string | undefined, ...holders: readonly (readonly Scope[])[]): Scope[] | null {
  const [first = [], ...others] = holders;
  const held = first.filter((scope) => others.every((scopes) => scopes.includes(scope)));
  if (asked === undefined) return held.length > 0 ? held.toSorted() : null;
  if (!SCOPE_LIST.test(asked)) return null;
  const names = [...new Set(asked.split(' '))].sort();
  return names.every((name): name is Scope => (held as string[]).includes(name)) ? names : null;
}

/** Whether a user or a token is of the staff of the service, for whom the console is. */
export function isOperator(scopes: readonly Scope[]): boolean {
  return scopes.includes('admin') || scopes.includes('support');
}
