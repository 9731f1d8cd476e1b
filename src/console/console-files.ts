import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { notFound } from '../platform/errors.js';

const TYPES: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

interface ConsoleFile {
  type: string;
  content: Buffer;
  compressed: Buffer | null;
}

/**
 * Holds the files of the built console, which are read only once. A request selects a file from a map of these files,
 * so it cannot name a path outside the console's folder.
 */
export class ConsoleFiles {
  private readonly files = new Map<string, ConsoleFile>();
  private readonly html: string | null;

  constructor() {
    const folder = builtConsole();
    this.html = folder === null ? null : readFileSync(join(folder, 'index.html'), 'utf8');
    if (folder === null) return;
    const assets = join(folder, 'assets');
    for (const name of readdirSync(assets)) {
      const type = TYPES[extname(name)];
      if (!type) continue;
      const compressed = join(assets, `${name}.br`);
      this.files.set(name, {
        type,
        content: readFileSync(join(assets, name)),
        compressed: existsSync(compressed) ? readFileSync(compressed) : null,
      });
    }
  }

  /**
   * Returns the HTML page of the console.
   * @param toRoot the relative path from the requested page to the root of the service
   */
  page(toRoot: string): string {
    // The built console may be missing when tests of other modules run.
    if (this.html === null) throw notFound.error();
    return this.html.replaceAll('"./assets/', `"${toRoot}console/assets/`);
  }

  find(name: string): ConsoleFile | undefined {
    return this.files.get(name);
  }
}

/**
 * Finds the built console: returns the folder dist/console in this folder or in a parent folder; null if there is none.
 */
function builtConsole(): string | null {
  for (let folder = __dirname; folder !== dirname(folder); folder = dirname(folder)) {
    const built = join(folder, 'dist/console');
    if (existsSync(join(built, 'index.html'))) return built;
  }
  return null;
}
