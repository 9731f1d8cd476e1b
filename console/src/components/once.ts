/** Returns a function that creates a value at its first call, and returns the same value at each call. */
export function once<T>(create: () => T): () => T {
  let created: { value: T } | undefined;
  return () => (created ??= { value: create() }).value;
}
