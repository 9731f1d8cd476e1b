/**
 * The files that this browser tab has sent, by the ids of their imports. They are kept until the console is closed or
 * reloaded.
 */
const sent = new Map<string, File>();

export function keepSentFile(importId: string, file: File): void {
  sent.set(importId, file);
}

export function sentFile(importId: string): File | undefined {
  return sent.get(importId);
}

/** Returns whether a file is sent as CSV. Any other file contains one eligibility, as JSON, on each line. */
export function isCsv({ name }: File): boolean {
  return !/\.(ndjson|jsonl)$/i.test(name);
}
