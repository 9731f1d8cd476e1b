import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { Controller, Get, Param, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Response } from 'express';
import { builtFolder } from '../built-folder.js';
import { notFound } from '../errors.js';
import { Access } from './access.js';

const FONT = 'font/woff2';
/**
 * The `Cache-Control` header of fonts: browsers cache a font for a week. If a browser had to request the font again for
 * each page, the text would first appear in another font.
 */
export const FONT_CACHE = 'public, max-age=604800';
const TYPES: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.woff2': FONT,
};

/**
 * Serves the style sheets, the fonts and the icon (`mark.svg`) of the service's own HTML pages. The build of the
 * console writes these files (site/look.mjs).
 */
@ApiExcludeController()
@Controller('look')
@Access('public')
export class LookController {
  private files: Map<string, Buffer> | null = null;

  @Get(':file')
  file(@Param('file') name: string, @Res() response: Response): void {
    // The requested name selects an entry of a map, so it cannot lead to a file outside the folder.
    const content = (this.files ??= lookFiles()).get(name);
    if (!content) throw notFound.error();
    const type = TYPES[extname(name)];
    response.setHeader('Content-Type', type);
    if (type === FONT) response.setHeader('Cache-Control', FONT_CACHE);
    response.send(content);
  }
}

/**
 * Reads the files into memory at the first request. If the console was not built, there are no files, and the pages
 * have no styles.
 */
function lookFiles(): Map<string, Buffer> {
  const folder = builtFolder('console/look');
  const names = folder === null ? [] : readdirSync(folder).filter((name) => extname(name) in TYPES);
  return new Map(names.map((name) => [name, readFileSync(join(folder!, name))]));
}
