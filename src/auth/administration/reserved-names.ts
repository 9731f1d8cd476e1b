/** Names in the audit log for actors without a user name: the service itself, and several users at a time. */
const RESERVED: ReadonlySet<string> = new Set(['system', 'several']);

/** Returns whether the name is reserved: a user with it could be confused with an audit log actor. */
export function isReservedName(name: string): boolean {
  return RESERVED.has(name.toLowerCase());
}
