import { Controller, Get, HttpCode, Param, Req, Res, UseFilters } from '@nestjs/common';
import { ApiOperation, ApiParam, ApiResponse, ApiTags } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { formatDateTime } from '../platform/clock.js';
import { methodNotAllowed } from '../platform/errors.js';
import type { Caller } from '../platform/context/caller.js';
import { Access, CurrentCaller, Bounded } from '../platform/http/access.js';
import { Answer, PageProblems, Problems, PublicProblems } from '../platform/http/documented.js';
import { LAUNCH_CODE, LaunchPath, TestLaunchInfo } from './launch.dto.js';
import { SigningKeys } from '../platform/signing-keys/signing-keys.js';
import { LaunchLinks } from './launch-links.js';
import { LaunchPageFilter } from './launch-page.filter.js';

@ApiTags('Launch')
@Controller()
export class LaunchController {
  constructor(
    private readonly launch: LaunchLinks,
    private readonly keys: SigningKeys,
  ) {}

  @Get('eligibilities/:svc_eligibility_code/testLaunchInfo')
  @Access('launch')
  @Bounded('row')
  @ApiOperation({ summary: 'Request a launch URL for a test' })
  @Answer(200, TestLaunchInfo, 'The URL works once, for 300 seconds.')
  @Problems(400, 404)
  async testLaunchInfo(
    @Param() { svc_eligibility_code }: LaunchPath,
    @CurrentCaller() caller: Caller,
  ): Promise<TestLaunchInfo> {
    const { record, expiresAt, launchUrl } = await this.launch.issue(svc_eligibility_code, caller);
    return {
      svc_eligiblity_id: record.svc_eligiblity_id,
      candidate_id: record.candidate_id,
      test_code: record.test_code,
      launch_url: launchUrl,
      expires_at: formatDateTime(expiresAt),
      single_use: true,
    };
  }

  @Get('launch/:launch_code')
  @HttpCode(303)
  @Access('public')
  @ApiOperation({ summary: 'Start the test in the browser of the candidate' })
  @ApiParam({ name: 'launch_code', schema: LAUNCH_CODE })
  @ApiResponse({
    status: 303,
    description: 'A redirect to the launch URL of the test with a signed `launch_token` (ES256, 60 s).',
  })
  @ApiResponse({ status: 204, description: 'The answer to a prefetch, which does not use up the URL.' })
  @UseFilters(LaunchPageFilter)
  @PageProblems(403, 404, 410)
  async start(
    @Param('launch_code') code: string,
    @Req() request: Request,
    @Res({ passthrough: true }) response: Response,
  ): Promise<void> {
    // HEAD is refused. Express would handle it with the GET route, but a link preview must not use up the launch URL
    // (RFC 9110 §9.2.1).
    if (request.method === 'HEAD') throw methodNotAllowed.error({ headers: { Allow: 'GET' } });
    response.vary('Accept');
    if (isPrefetch(request)) response.status(204);
    else response.location(await this.launch.redeem(code));
  }

  @Get('.well-known/jwks.json')
  @Access('public')
  @ApiOperation({ summary: 'Read the keys that verify launch tokens and client assertions (RFC 7517)' })
  @ApiResponse({
    status: 200,
    description: 'The key set.',
    schema: {
      type: 'object',
      required: ['keys'],
      properties: { keys: { type: 'array', items: { type: 'object' } } },
    },
  })
  @PublicProblems()
  jwks(): Promise<object> {
    return this.keys.jwks();
  }
}

/**
 * Returns whether a browser requests the page before the user clicks (Fetch Metadata, and older headers of WebKit and
 * Gecko).
 */
function isPrefetch({ headers }: Request): boolean {
  return ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'].some((name) =>
    /prefetch|preview/i.test(String(headers[name])),
  );
}
