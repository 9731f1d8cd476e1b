import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { builtFolder } from '../platform/built-folder.js';
import { notFound } from '../platform/errors.js';

const TYPES: Record<string, string> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

interface ConsoleFile {
  type: string;
  content: Buffer;
  compressed: Buffer | null;
}

/**
 * Holds the files of the built console, which are read only once. A request selects a file from a map of these files,
 * so a request cannot name a path outside the console's folder.
 */
export class ConsoleFiles {
  private readonly files = new Map<string, ConsoleFile>();
  private readonly html: string | null;

  constructor() {
    const folder = builtFolder('console');
    const page = folder && join(folder, 'index.html');
    this.html = page !== null && existsSync(page) ? readFileSync(page, 'utf8') : null;
    if (folder === null || this.html === null) return;
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
    // The console may not have been built, for example when only the tests of other modules run.
    if (this.html === null) throw notFound.error();
    return this.html.replaceAll('"./assets/', `"${toRoot}console/assets/`);
  }

  find(name: string): ConsoleFile | undefined {
    return this.files.get(name);
  }
}
