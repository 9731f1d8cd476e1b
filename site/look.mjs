// Writes the look of the pages that are not part of the console: the style sheet with the design tokens, the fonts with
// their licence, and the mark.
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const { resolve } = createRequire(import.meta.url);
const FONTS = [resolve('@fontsource-variable/geist/wght.css'), resolve('@fontsource-variable/geist-mono/wght.css')];
const look = fileURLToPath(new URL('look/', import.meta.url));

/** Writes `look.css`, `pages.css`, `mark.svg` and the fonts into a folder, which is emptied first. */
export function writeLook(folder) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const faces = FONTS.map((sheet) => {
    const text = readFileSync(sheet, 'utf8');
    for (const [, name] of text.matchAll(/url\(\.\/files\/([^)]+)\)/g))
      copyFileSync(join(dirname(sheet), 'files', name), join(folder, name));
    return text.replaceAll('url(./files/', 'url(./');
  });
  const sheets = ['tokens.css', 'base.css'].map((name) => readFileSync(join(look, name), 'utf8'));
  writeFileSync(join(folder, 'look.css'), [...faces, ...sheets].join('\n'));
  for (const name of ['pages.css', 'mark.svg']) copyFileSync(join(look, name), join(folder, name));
  copyFileSync(join(dirname(FONTS[0]), 'LICENSE'), join(folder, 'fonts-licence.txt'));
}
