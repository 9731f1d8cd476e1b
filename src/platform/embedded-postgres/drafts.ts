import { randomBytes } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isAlive } from './os-process.js';

/**
 * Builds a temporary folder name, to be renamed when the work is complete. The name contains the pid of the process.
 */
export function draftName(name: string): string {
  return `${name}.draft-${process.pid}-${randomBytes(4).toString('hex')}`;
}

/** Deletes the temporary folders of killed processes. Best effort: a child process of theirs may still be writing. */
export async function removeAbandonedDrafts(folder: string, name: string): Promise<void> {
  for (const entry of await readdir(folder)) {
    const [, pid] = /\.draft-(\d+)-[0-9a-f]+$/.exec(entry.startsWith(`${name}.`) ? entry : '') ?? [];
    if (pid && !isAlive(Number(pid))) await rm(join(folder, entry), { recursive: true, force: true }).catch(() => {});
  }
}
