import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { ApiOperation, ApiParam, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { HttpConfig } from './http.config.js';
import { notFound } from '../errors.js';
import { Access } from './access.js';
import { integer, listOf, text } from '../validation/rules.js';
import { PAGE, PublicProblems } from './documented.js';
import { catalogueEntries, cataloguePage, type CatalogueEntry } from './problem-catalogue.js';

/** The schema of a code of the error catalogue. For a path with any other text, the response is 404. */
const CODE = text({ min: 1, max: 100, pattern: /^[a-z][a-z0-9_]*$/ }).schema;
const words = text({ min: 1, max: 1000 }).schema;

const ENTRY = {
  type: 'object',
  required: ['code', 'status', 'title', 'description', 'remedy', 'members'],
  properties: {
    code: CODE,
    status: integer(400, 599).schema,
    title: words,
    description: words,
    remedy: { ...words, type: ['string', 'null'], description: 'The remedy for the error.' },
    members: {
      ...listOf({ schema: words, faults: () => [] }, 20).schema,
      description: 'Extension members of the problem document.',
    },
  },
};

const answered = (description: string, schema: object) =>
  ApiResponse({
    status: 200,
    description,
    content: { 'application/json': { schema }, 'text/html': { schema: PAGE } },
  });

/** Serves the error catalogue, to which the `type` of every problem document points. Browsers get an HTML page. */
@ApiTags('Errors')
@Controller('problems')
export class ProblemsController {
  constructor(private readonly config: HttpConfig) {}

  @Get()
  @Access('public')
  @ApiOperation({ summary: 'List every error code of this service' })
  @answered('The error catalogue.', { type: 'array', items: ENTRY, maxItems: 1000 })
  @PublicProblems()
  list(@Req() request: Request, @Res({ passthrough: true }) response: Response): CatalogueEntry[] | string {
    const entries = catalogueEntries();
    return this.isForPeople(request, response) ? this.page('Problems', entries) : entries;
  }

  @Get(':code')
  @Access('public')
  @ApiOperation({ summary: 'Read the explanation of one error code' })
  @ApiParam({ name: 'code', schema: CODE, example: 'validation_error' })
  @answered('The entry.', ENTRY)
  @PublicProblems(404)
  get(
    @Param('code') code: string,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): CatalogueEntry | string {
    const entry = catalogueEntries().find((candidate) => candidate.code === code);
    if (!entry) throw notFound.error();
    return this.isForPeople(request, response) ? this.page(entry.title, [entry]) : entry;
  }

  private isForPeople(request: Request, response: Response): boolean {
    response.vary('Accept');
    const isPage = request.accepts(['application/json', 'text/html']) === 'text/html';
    if (isPage) response.type('html');
    return isPage;
  }

  private page(title: string, entries: readonly CatalogueEntry[]): string {
    return cataloguePage(title, entries, this.config.basePath);
  }
}
