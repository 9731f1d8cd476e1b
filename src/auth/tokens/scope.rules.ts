import type { Scope } from '../../platform/context/caller.js';

/** RFC 6749 §3.3: scope tokens separated by one space each. */
const SCOPE_LIST = /^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/;

/**
 * Returns the granted scopes: all requested scopes or, without a request, all scopes that every holder has. Null when a
 * holder lacks a requested scope, or when no scope is left.
 */
export function grantedScopes(asked: string | undefined, ...holders: readonly (readonly Scope[])[]): Scope[] | null {
  const [first = [], ...others] = holders;
  const held = first.filter((scope) => others.every((scopes) => scopes.includes(scope)));
  if (asked === undefined) return held.length > 0 ? held.toSorted() : null;
  if (!SCOPE_LIST.test(asked)) return null;
  const names = [...new Set(asked.split(' '))].sort();
  return names.every((name): name is Scope => (held as string[]).includes(name)) ? names : null;
}

/** Returns whether the scopes belong to the service's staff, who use the console. */
export function isOperator(scopes: readonly Scope[]): boolean {
  return scopes.includes('admin') || scopes.includes('support');
}
