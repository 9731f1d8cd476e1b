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
  '.md': 'text/markdown; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};
const TEXT = 'text/plain; charset=utf-8';
/** The Content Security Policy of pictures: only inline styles are allowed, even if the picture is opened directly. */
const PICTURE = "default-src 'none'; style-src 'unsafe-inline'; sandbox";

/**
 * Serves the service's documents as HTML pages, which the build generates (site/build.mjs). If they were not built, the
 * routes answer 404.
 */
@ApiExcludeController()
@Controller('guide')
@Access('public')
export class GuideController {
  /** The folder to which the build writes the pages; tests override it. */
  static folder = join(__dirname, '../../guide');

  constructor(private readonly config: Config) {}

  @Get()
  start(@Req() request: Request, @Res() response: Response): void {
    // The guide's address must end with a slash, because its pages refer to each other by relative paths.
    if (request.path.endsWith('/')) send('index.html', request, response);
    else response.redirect(308, `${this.config.basePath}/guide/`);
  }

  @Get('*path')
  page(@Req() request: Request, @Res() response: Response): void {
    send((request.params['path'] as unknown as string[]).join('/'), request, response);
  }
}

/** Serves the list of the guide's pages at the path where language models look for it (llmstxt.org). */
@ApiExcludeController()
@Controller('llms.txt')
@Access('public')
export class LlmsController {
  @Get()
  list(@Res() response: Response): void {
    const list = files().get('llms.txt');
    if (!list) throw notFound.error();
    // The list's links are relative to the guide, and are adapted to the path of this route.
    response.type(TEXT).send(list.content.toString('utf8').replaceAll('](', '](guide/'));
  }
}

/** Sends a page of the guide. Clients that prefer Markdown get Markdown (RFC 9110 §12.5.1). */
function send(name: string, request: Request, response: Response): void {
  const isPage = name.endsWith('.html');
  if (isPage) response.vary('Accept');
  const prefersMarkdown = isPage && request.accepts(['text/html', 'text/markdown']) === 'text/markdown';
  const file = files().get(prefersMarkdown ? name.replace(/html$/, 'md') : name);
  if (!file) throw notFound.error();
  response.setHeader('Content-Type', file.type);
  if (file.type === TYPES['.svg']) response.setHeader('Content-Security-Policy', PICTURE);
  response.send(file.content);
}

let known: { folder: string; files: Map<string, { type: string; content: Buffer }> } | null = null;

/**
 * Reads the files of the guide at the first request. A request selects an entry of the map, so that it cannot name a
 * path outside.
 */
function files() {
  const { folder } = GuideController;
  if (known?.folder !== folder) known = { folder, files: filesIn(folder) };
  return known.files;
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
