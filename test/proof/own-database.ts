import { chmodSync, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../../src/platform/embedded-postgres/embedded-postgres.js';
import type { Stop } from './stops.js';

/** Creates a folder that other users can read. The folder is removed when the program ends. */
export function temporaryFolder(name: string, stops: Stop[]): string {
  const folder = mkdtempSync(join(tmpdir(), `${name}-`));
  chmodSync(folder, 0o755);
  stops.push(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/**
 * A PostgreSQL server of a program in this folder. `dataDir` contains the server's files, and `folder` is for other
 * files.
 */
export interface OwnDatabase {
  readonly folder: string;
  readonly dataDir: string;
  readonly url: string;
}

/** Starts an empty database, which is removed when the program ends. */
export async function startOwnDatabase(name: string, stops: Stop[]): Promise<OwnDatabase> {
  const folder = temporaryFolder(name, stops);
  const dataDir = join(folder, 'database');
  const database = await startEmbeddedPostgres({ dataDir, database: name });
  stops.push(() => database.stop());
  return { folder, dataDir, url: database.url };
}
