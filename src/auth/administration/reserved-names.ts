/** The reserved user names. The audit log uses these names for the service itself, and for several users at a time. */
const RESERVED: ReadonlySet<string> = new Set(['system', 'several']);

/**
 * Returns whether the user name is reserved. A user with that name could be confused with an actor in the audit log.
 */
export function isReservedName(name: string): boolean {
  return RESERVED.has(name.toLowerCase());
}
