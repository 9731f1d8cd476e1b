import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { notFound } from '../platform/errors.js';
import { Access } from '../platform/http/access.js';

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/**
 * The operator's console: static files, the same for everybody. What they show comes from the JSON API, with a token of
 * the operator.
 */
@ApiExcludeController()
@Controller('console')
@Access('public')
export class ConsoleController {
  /** All of it, read once: a request names a member of the map and never a path. */
  private readonly files = new Map<string, { type: string; content: Buffer }>();

  constructor() {
    const directory = join(__dirname, 'assets');
    for (const name of readdirSync(directory)) {
      const type = TYPES[extname(name)];
      if (type) this.files.set(name, { type, content: readFileSync(join(directory, name)) });
    }
  }

  @Get()
  page(@Req() request: Request, @Res() response: Response): void {
    // The page names its files relative to its own address, so that it works under any prefix.
    if (request.path.endsWith('/')) response.redirect(308, '../console');
    else this.send('index.html', response);
  }

  @Get(':file')
  asset(@Param('file') name: string, @Res() response: Response): void {
    this.send(name, response);
  }

  private send(name: string, response: Response): void {
    const file = this.files.get(name);
    if (!file) throw notFound.error();
    response.setHeader('Content-Type', file.type);
    response.send(file.content);
  }
}
