import { execFile, execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';

const FULL_MS = 3_000;

/** Mounts a small separate disk at the path, if this machine allows mounting. @returns whether it was mounted */
export function mountSmallDisk(path: string, stops: (() => unknown)[]): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1500m,mode=755', 'tmpfs', path], { stdio: 'ignore' });
  } catch {
    return false;
  }
  stops.push(() => execFileSync('umount', ['-l', path]));
  return true;
}

/**
 * Fills the disk at the path for a few seconds. Another process fills it, because the partners of the calling program
 * must go on answering.
 */
export async function fillDisk(path: string): Promise<void> {
  const filler = join(path, 'filler');
  // The command ends with an error, which shows that the disk is full.
  await promisify(execFile)('dd', ['if=/dev/zero', `of=${filler}`, 'bs=1M']).catch(() => undefined);
  await pause(FULL_MS);
  rmSync(filler, { force: true });
}
