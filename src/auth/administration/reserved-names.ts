/** What the audit log says in place of a user name: for the service itself, and for several names at a time. */
const RESERVED: ReadonlySet<string> = new Set(['system', 'several']);

/** No user may be called so: what they did would look like what they did not do. */
export function isReservedName(name: string): boolean {
  return RESERVED.has(name.toLowerCase());
}
