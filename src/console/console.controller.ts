import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { HttpConfig } from '../platform/http/http.config.js';
import { notFound } from '../platform/errors.js';
import { Access } from '../platform/http/access.js';
import { ConsoleFiles } from './console-files.js';

/**
 * Serves the operators' console. Its files are static and the same for everybody. The console's scripts load data from
 * the JSON API, in the operator's session.
 */
@ApiExcludeController()
@Controller('console')
@Access('public')
export class ConsoleController {
  private readonly files = new ConsoleFiles();

  constructor(private readonly config: HttpConfig) {}

  @Get('assets/:file')
  asset(@Param('file') name: string, @Req() request: Request, @Res() response: Response): void {
    const file = this.files.find(name);
    if (!file) throw notFound.error();
    response.setHeader('Content-Type', file.type);
    // Browsers may cache a file of the console for a year, because its name contains a hash of its content.
    response.setHeader('Cache-Control', 'public, max-age=31536000, immutable');
    response.setHeader('Vary', 'Accept-Encoding');
    if (file.compressed !== null && request.acceptsEncodings('br') !== false) {
      response.setHeader('Content-Encoding', 'br');
      response.send(file.compressed);
    } else response.send(file.content);
  }

  // Every path serves the same HTML, whose script shows the page for the path, or a message that no such page exists.
  // The route is declared last, so that it hides no other route.
  @Get(['', '*rest'])
  page(@Req() request: Request, @Res() response: Response): void {
    response.setHeader('Content-Type', 'text/html; charset=utf-8');
    // The HTML refers to its files by relative paths, so that the console works under any path prefix.
    const depth = request.path.slice(this.config.basePath.length).split('/').length - 2;
    response.send(this.files.page('../'.repeat(depth)));
  }
}
