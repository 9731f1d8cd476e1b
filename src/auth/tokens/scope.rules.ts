import type { Scope } from '../../platform/context/caller.js';

/** RFC 6749 §3.3: scope tokens separated by one space each. */
const SCOPE_LIST = /^[\x21\x23-\x5b\x5d-\x7e]+( [\x21\x23-\x5b\x5d-\x7e]+)*$/;

/**
 * What is granted of the scopes asked for: all of them or, when none was asked, all that every holder has.
 * Null when a scope was asked that some holder lacks, or when nothing is left to grant.
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
