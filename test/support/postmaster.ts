import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type pg from 'pg';

/** Returns the pid of the main process of PostgreSQL, from the cluster's data folder. */
export function postmasterIn(folder: string): number {
  return Number(readFileSync(join(folder, 'postmaster.pid'), 'utf8').split('\n', 1)[0]);
}

/**
 * Returns the pid of PostgreSQL's main process, whose children serve the connections. PostgreSQL must run on this
 * machine.
 */
export async function postmasterOf(client: pg.ClientBase): Promise<number> {
  const { rows } = await client.query<{ data_directory: string }>('SHOW data_directory');
  return postmasterIn(rows[0].data_directory);
}
