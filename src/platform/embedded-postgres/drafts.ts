import { randomBytes } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isAlive } from './os-process.js';

/** A folder name for work in progress, to be renamed when complete. It names the process that works on it. */
export function draftName(name: string): string {
  return `${name}.draft-${process.pid}-${randomBytes(4).toString('hex')}`;
}

/** Removes the drafts that killed processes left. Best effort: a child of theirs may still be writing. */
export async function removeAbandonedDrafts(folder: string, name: string): Promise<void> {
  for (const entry of await readdir(folder)) {
    const [, pid] = /\.draft-(\d+)-[0-9a-f]+$/.exec(entry.startsWith(`${name}.`) ? entry : '') ?? [];
    if (pid && !isAlive(Number(pid))) await rm(join(folder, entry), { recursive: true, force: true }).catch(() => {});
  }
}
