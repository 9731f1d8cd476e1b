import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

/** Builds the guide from the documents in the folder `root`. */
export function buildGuide(root: string, folder: string): { status: number | null; stderr: string } {
  return spawnSync(process.execPath, [join(root, 'site/build.mjs'), folder], { encoding: 'utf8' });
}
