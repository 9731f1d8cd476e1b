/** The files that were sent from this page, by the ids of their imports. They are kept until the page is left. */
const sent = new Map<string, File>();

export function keepSentFile(importId: string, file: File): void {
  sent.set(importId, file);
}

export function sentFile(importId: string): File | undefined {
  return sent.get(importId);
}

/** Returns whether a file is sent as CSV. Any other file has one eligibility in JSON on each line. */
export function isCsv({ name }: File): boolean {
  return !/\.(ndjson|jsonl)$/i.test(name);
}
