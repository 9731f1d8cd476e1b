import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative, sep } from 'node:path';
import { Controller, Get, Injectable, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { HttpConfig } from '../platform/http/http.config.js';
import { notFound } from '../platform/errors.js';
import { Access } from '../platform/http/access.js';
import { brotli } from '../platform/http/brotli.js';
import { FONT_CACHE } from '../platform/http/look.controller.js';

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.md': 'text/markdown; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};
const TEXT = 'text/plain; charset=utf-8';
/**
 * The Content Security Policy for pictures in the guide. It allows nothing but inline styles, even if a browser opens
 * the picture directly.
 */
const PICTURE = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

interface GuideFile {
  readonly type: string;
  readonly content: Buffer;
  /** The compressed content, from the first request that accepts it. Pictures in PNG and fonts are compressed already. */
  compressed?: Promise<Buffer>;
}

/** The files of the guide, which are read from the disk on the first request. */
@Injectable()
export class GuideFiles {
  /** The folder to which the build writes the pages of the guide. Tests use another folder instead. */
  static folder = join(__dirname, '../../guide');

  private files: Map<string, GuideFile> | null = null;

  /**
   * Returns a file of the guide. The name selects an entry of a map, so the name cannot lead to a file outside the
   * folder.
   * @throws DomainError not_found
   */
  get(name: string): GuideFile {
    const file = (this.files ??= filesIn(GuideFiles.folder)).get(name);
    if (!file) throw notFound.error();
    return file;
  }
}

/**
 * Serves the service's documents as HTML pages, which the build generates (site/build.mjs). If the pages were not
 * built, the routes respond with 404.
 */
@ApiExcludeController()
@Controller('guide')
@Access('public')
export class GuideController {
  constructor(
    private readonly config: HttpConfig,
    private readonly files: GuideFiles,
  ) {}

  @Get()
  async start(@Req() request: Request, @Res() response: Response): Promise<void> {
    // The guide's address must end with a slash, because its pages refer to each other by relative paths.
    if (request.path.endsWith('/')) await this.send('index.html', request, response);
    else response.redirect(308, `${this.config.basePath}/guide/`);
  }

  @Get('*path')
  page(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.send((request.params['path'] as unknown as string[]).join('/'), request, response);
  }

  /** Sends a page of the guide. Clients that prefer Markdown get the page as Markdown (RFC 9110 §12.5.1). */
  private async send(name: string, request: Request, response: Response): Promise<void> {
    const isPage = name.endsWith('.html');
    if (isPage) response.vary('Accept');
    const prefersMarkdown = isPage && request.accepts(['text/html', 'text/markdown']) === 'text/markdown';
    const file = this.files.get(prefersMarkdown ? name.replace(/html$/, 'md') : name);
    response.setHeader('Content-Type', file.type);
    if (file.type === TYPES['.woff2']) response.setHeader('Cache-Control', FONT_CACHE);
    if (file.type === TYPES['.svg']) response.setHeader('Content-Security-Policy', PICTURE);
    response.send(await this.encoded(file, request, response));
  }

  /** Returns the content in compressed form if the client accepts this form and the content is text. */
  private encoded(file: GuideFile, request: Request, response: Response): Promise<Buffer> | Buffer {
    if (file.type === TYPES['.png'] || file.type === TYPES['.woff2']) return file.content;
    response.vary('Accept-Encoding');
    if (request.acceptsEncodings('br') === false) return file.content;
    response.setHeader('Content-Encoding', 'br');
    return (file.compressed ??= brotli(file.content));
  }
}

/** Serves the list of the guide's pages at the path where language models look for it (llmstxt.org). */
@ApiExcludeController()
@Controller('llms.txt')
@Access('public')
export class LlmsController {
  constructor(private readonly files: GuideFiles) {}

  @Get()
  list(@Res() response: Response): void {
    const list = this.files.get('llms.txt');
    // The links in llms.txt are relative to the guide's address. They are rewritten, because the route for llms.txt has
    // another path.
    response.type(TEXT).send(list.content.toString('utf8').replaceAll('](', '](guide/'));
  }
}

function filesIn(folder: string): Map<string, GuideFile> {
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
