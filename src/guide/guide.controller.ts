import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative, sep } from 'node:path';
import { Controller, Get, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { Config } from '../config.js';
import { notFound } from '../platform/errors.js';
import { Access } from '../platform/http/access.js';

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};
const TEXT = 'text/plain; charset=utf-8';
/** A picture has its style within, and can do nothing, opened by itself either. */
const PICTURE = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/** The documents of the service as pages, which the build makes (site/build.mjs). A service that was built without has none. */
@ApiExcludeController()
@Controller('guide')
@Access('public')
export class GuideController {
  /** Where the build puts them; a test says where it did. */
  static folder = join(__dirname, '../../guide');

  /** Read once, for the first who asks: a request names a member of the map and never a path. */
  private files: Map<string, { type: string; content: Buffer }> | null = null;

  constructor(private readonly config: Config) {}

  @Get()
  start(@Req() request: Request, @Res() response: Response): void {
    // The pages name each other relative to their own address.
    if (request.path.endsWith('/')) this.send('index.html', response);
    else response.redirect(308, `${this.config.basePath}/guide/`);
  }

  @Get('*path')
  page(@Req() request: Request, @Res() response: Response): void {
    this.send((request.params['path'] as unknown as string[]).join('/'), response);
  }

  private send(name: string, response: Response): void {
    const file = (this.files ??= filesIn(GuideController.folder)).get(name);
    if (!file) throw notFound.error();
    response.setHeader('Content-Type', file.type);
    if (file.type === TYPES['.svg']) response.setHeader('Content-Security-Policy', PICTURE);
    response.send(file.content);
  }
}

function filesIn(folder: string): Map<string, { type: string; content: Buffer }> {
  if (!existsSync(folder)) return new Map();
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(
    entries.map(({ parentPath, name }) => {
      const path = join(parentPath, name);
      const file = { type: TYPES[extname(name)] ?? TEXT, content: readFileSync(path) };
      return [relative(folder, path).replaceAll(sep, '/'), file];
    }),
  );
}
