import type { Scope } from '../../platform/context/caller.js';

/** Matches a list of scopes that are separated by single spaces (RFC 6749 §3.3). */
const SCOPE_LIST = /^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/;

/**
 * Returns the scopes to grant: the requested scopes or, if none are requested, all scopes that every holder (the user
 * and the application) has. Returns null if a holder lacks a requested scope, or if no scope would be granted.
 */
export function grantedScopes(asked: string | undefined, ...holders: readonly (readonly Scope[])[]): Scope[] | null {
  const [first = [], ...others] = holders;
  const held = first.filter((scope) => others.every((scopes) => scopes.includes(scope)));
  if (asked === undefined) return held.length > 0 ? held.toSorted() : null;
  if (!SCOPE_LIST.test(asked)) return null;
  const names = [...new Set(asked.split(' '))].sort();
  return names.every((name): name is Scope => (held as string[]).includes(name)) ? names : null;
}

/** Returns whether a user with these scopes is an operator. */
export function isOperator(scopes: readonly Scope[]): boolean {
  return scopes.includes('admin') || scopes.includes('support');
}

/**
 * Returns whether a user with these scopes may sign in to the console. Operators may sign in, and so may partners,
 * which see only their own pages.
 */
export function mayUseConsole(scopes: readonly Scope[]): boolean {
  return isOperator(scopes) || scopes.includes('partner');
}
