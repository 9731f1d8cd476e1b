import {
  applyDecorators,
  Injectable,
  SetMetadata,
  UseGuards,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ApiOperation } from '@nestjs/swagger';
import type { Response } from 'express';
import { Config } from '../../config.js';

const DEPRECATION = 'deprecation';
const LEAST_MS = 365 * 86_400_000;

interface Deprecation {
  /** The date of the announcement. */
  readonly since: Date;
  /** The date from which on the route may be removed. */
  readonly sunset: Date;
}

/**
 * Announces the removal of a route: in the OpenAPI document, and in its answers to authorized callers.
 * docs/versioning.md is the policy.
 * @param since the day of the release that announces it, `YYYY-MM-DD`
 * @param sunset the day from which on the route may be removed: 12 months later, or more
 */
export function Deprecated({ since, sunset }: { since: string; sunset: string }) {
  const deprecation: Deprecation = { since: new Date(since), sunset: new Date(sunset) };
  if (!(deprecation.sunset.getTime() - deprecation.since.getTime() >= LEAST_MS))
    throw new Error(`What is deprecated on ${since} answers for 12 months at least: not until ${sunset}.`);
  return applyDecorators(
    // Overrides the empty default, which would replace the route's summary.
    ApiOperation({ summary: undefined, deprecated: true }),
    SetMetadata(DEPRECATION, deprecation),
    UseGuards(DeprecationHeaders),
  );
}

/** Sets the deprecation headers. It is a guard, so that refusals of the handler carry the headers too. */
@Injectable()
class DeprecationHeaders implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly config: Config,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    const { since, sunset } = this.reflector.get<Deprecation>(DEPRECATION, context.getHandler());
    const response = context.switchToHttp().getResponse<Response>();
    // RFC 9745 §2.1: a date of structured fields; RFC 8594 §3: an HTTP date.
    response.setHeader('Deprecation', `@${since.getTime() / 1000}`);
    response.setHeader('Sunset', sunset.toUTCString());
    response.append('Link', `<${this.config.baseUrl}/guide/versioning.html>; rel="deprecation"; type="text/html"`);
    return true;
  }
}
