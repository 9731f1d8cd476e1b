import type { WaitingRow } from './imports.rules.js';

/**
 * The maximum number of rows in a chunk. It also limits the rows in one transaction while other requests are running,
 * because these requests may wait for the transaction.
 */
const CHUNK_ROWS = 100;
const CHUNK_BYTES = 256 * 1024;
/**
 * The longest time for which received rows wait in memory before they are stored, in milliseconds. Each stored chunk
 * renews the lease, whose duration is much longer (import-store.ts).
 */
const MOST_WAIT_MS = 30_000;

/** Groups rows into chunks for storage. A chunk is smaller than the maximum if the body arrives slowly. */
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
