/** Names in the audit log for actors without a user name: the service itself, and several users at a time. */
const RESERVED: ReadonlySet<string> = new Set(['system', 'several']);

/** No user may be called so: what they did would look like what they did not do. */
export function isReservedName(name: string): boolean {
  return RESERVED.has(name.toLowerCase());
}
