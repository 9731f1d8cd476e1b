import { randomBytes } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isAlive } from './os-process.js';

/**
 * Returns a name for a temporary folder, which is renamed when its contents are complete. The name contains the pid of
 * this process.
 */
export function draftName(name: string): string {
  return `${name}.draft-${process.pid}-${randomBytes(4).toString('hex')}`;
}

/**
 * Deletes the temporary folders that killed processes left behind. Failures are ignored, because a child process of a
 * killed process may still be writing to such a folder.
 */
export async function removeAbandonedDrafts(folder: string, name: string): Promise<void> {
  for (const entry of await readdir(folder)) {
    const [, pid] = /\.draft-(\d+)-[0-9a-f]+$/.exec(entry.startsWith(`${name}.`) ? entry : '') ?? [];
    if (pid && !isAlive(Number(pid))) await rm(join(folder, entry), { recursive: true, force: true }).catch(() => {});
  }
}
