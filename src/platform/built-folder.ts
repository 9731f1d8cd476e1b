import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * Finds a folder that the build has written: returns `dist/<name>` in the folder of this file or in one of its parent
 * folders; null if there is none.
 */
export function builtFolder(name: string): string | null {
  for (let folder = __dirname; folder !== dirname(folder); folder = dirname(folder)) {
    const built = join(folder, 'dist', name);
    if (existsSync(built)) return built;
  }
  return null;
}
