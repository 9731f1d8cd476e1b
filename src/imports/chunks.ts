import type { WaitingRow } from './imports.rules.js';

/** Rows that are done in one transaction beside calls, which wait for them. */
const CHUNK_ROWS = 100;
const CHUNK_BYTES = 256 * 1024;
/** Each chunk that is kept says that the body still comes: well within the lease (import-store.ts). */
const MOST_WAIT_MS = 30_000;

/** The rows as they are kept: many at a time, and fewer of a body that comes slowly. */
export async function* chunksOf(rows: AsyncIterable<WaitingRow>): AsyncIterable<WaitingRow[]> {
  let chunk: WaitingRow[] = [];
  let bytes = 0;
  let begun = performance.now();
  for await (const row of rows) {
    chunk.push(row);
    bytes += 'json' in row ? row.json.length : JSON.stringify(row).length;
    if (chunk.length < CHUNK_ROWS && bytes < CHUNK_BYTES && performance.now() - begun < MOST_WAIT_MS) continue;
    yield chunk;
    chunk = [];
    bytes = 0;
    begun = performance.now();
  }
  if (chunk.length > 0) yield chunk;
}
