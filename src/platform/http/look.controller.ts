import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { Controller, Get, Param, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Response } from 'express';
import { builtFolder } from '../built-folder.js';
import { notFound } from '../errors.js';
import { Access } from './access.js';

const FONT = 'font/woff2';
/** Browsers keep a font for a week. If they had to ask for each page, its text would first appear in another font. */
export const FONT_CACHE = 'public, max-age=604800';
const TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.woff2': FONT,
};

/** Serves the style sheets, the fonts and the mark of the service's own HTML pages, which the build of the console writes (site/look.mjs). */
@ApiExcludeController()
@Controller('look')
@Access('public')
export class LookController {
  private files: Map<string, Buffer> | null = null;

  @Get(':file')
  file(@Param('file') name: string, @Res() response: Response): void {
    // The name selects an entry of a map, so it cannot lead to a file outside of the folder.
    const content = (this.files ??= lookFiles()).get(name);
    if (!content) throw notFound.error();
    const type = TYPES[extname(name)];
    response.setHeader('Content-Type', type);
    if (type === FONT) response.setHeader('Cache-Control', FONT_CACHE);
    response.send(content);
  }
}

/** Reads the files at the first request. Without a build, there are none, and the pages have no style. */
function lookFiles(): Map<string, Buffer> {
  const folder = builtFolder('console/look');
  const names = folder === null ? [] : readdirSync(folder).filter((name) => extname(name) in TYPES);
  return new Map(names.map((name) => [name, readFileSync(join(folder!, name))]));
}
