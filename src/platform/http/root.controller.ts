import { Controller, Get, Req, Res } from '@nestjs/common';
import { ApiExcludeEndpoint, ApiOperation, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { version } from '../../../package.json';
import { HttpConfig } from './http.config.js';
import { Clock, formatDateTime } from '../clock.js';
import { notFound } from '../errors.js';
import { httpUrl } from '../validation/formats.js';
import { text } from '../validation/rules.js';
import { Access } from './access.js';
import { PAGE, PublicProblems } from './documented.js';
import { htmlPage } from './page.js';

const NAME = 'Candidate eligibility, assessment results and event notification service';
const DAY_MS = 86_400_000;
const SECURITY_DAYS = 180;

/**
 * The addresses of the service's pages, for each kind of reader. The keys are the names of members in the JSON
 * response.
 */
const WAYS = {
  guide: [
    '/guide/',
    'Documentation for clients, test drivers, partners and operators: first steps, concepts and reference.',
  ],
  documents: ['/docs', 'Try every request with your own access token.'],
  openapi: ['/openapi.json', 'The API description for programs: OpenAPI 3.1.'],
  problems: ['/problems', 'Every error code, with its meaning and remedy.'],
  token_service: ['/.well-known/oauth-authorization-server', 'The metadata of the token service (RFC 8414).'],
  console: ['/console', 'For operators: partners, the error queue, candidates.'],
  health: ['/health/ready', 'Whether the service is ready for requests.'],
} as const;

/** Describes the service and its pages, as HTML for browsers and as JSON for programs. */
@ApiTags('Health')
@Controller()
export class RootController {
  constructor(
    private readonly config: HttpConfig,
    private readonly clock: Clock,
  ) {}

  @Get('.well-known/security.txt')
  @Access('public')
  @ApiExcludeEndpoint()
  security(@Res({ passthrough: true }) response: Response): string {
    const { securityContact, baseUrl } = this.config;
    if (securityContact === null) throw notFound.error();
    const today = Math.floor(this.clock.now().getTime() / DAY_MS) * DAY_MS;
    response.type('text/plain');
    // `Expires` of security.txt is less than a year ahead, as RFC 9116 §2.5.5 recommends.
    return [
      `Contact: ${securityContact}`,
      `Expires: ${formatDateTime(new Date(today + SECURITY_DAYS * DAY_MS))}`,
      'Preferred-Languages: en',
      `Canonical: ${baseUrl}/.well-known/security.txt`,
      '',
    ].join('\n');
  }

  @Get()
  @Access('public')
  @ApiOperation({
    summary: 'Read the description of this service and the addresses of its documents',
    description: 'The response is an HTML page for browsers and JSON for programs.',
  })
  @ApiResponse({
    status: 200,
    description: 'Addresses of this service.',
    content: {
      'application/json': {
        schema: {
          type: 'object',
          required: ['name', 'version', ...Object.keys(WAYS)],
          properties: {
            name: { type: 'string', enum: [NAME] },
            version: { ...text({ max: 50 }).schema, example: version },
            ...Object.fromEntries(Object.keys(WAYS).map((name) => [name, httpUrl().schema])),
          },
        },
      },
      'text/html': { schema: PAGE },
    },
  })
  @PublicProblems()
  get(@Req() request: Request, @Res({ passthrough: true }) response: Response): object | string {
    response.vary('Accept');
    if (request.accepts(['application/json', 'text/html']) !== 'text/html')
      return {
        name: NAME,
        version,
        ...Object.fromEntries(Object.entries(WAYS).map(([name, [path]]) => [name, this.config.baseUrl + path])),
      };
    response.type('html');
    return page(this.config.basePath);
  }
}

function page(basePath: string): string {
  const ways = Object.values(WAYS).map(
    ([path, meaning]) => `<li><a href="${basePath}${path}"><code>${path}</code></a> <span>${meaning}</span></li>`,
  );
  const body = `<h1>${NAME}</h1>
<p class="lead">Clients decide who may take which exam and when, and book appointments. Test drivers deliver results. Partner systems are notified of each change of an appointment.</p>
<ul class="ways">
${ways.join('\n')}
</ul>
<p class="note">Version ${version}</p>`;
  return htmlPage({ title: NAME, body, base: basePath });
}
