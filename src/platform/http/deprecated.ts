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
import { HttpConfig } from './http.config.js';

const DEPRECATION = 'deprecation';
const LEAST_MS = 365 * 86_400_000;

interface Deprecation {
  /** The day on which the removal of the route was announced. */
  readonly since: Date;
  /** The earliest day on which the route may be removed. */
  readonly sunset: Date;
}

/**
 * Announces the removal of a route, in the OpenAPI document and in the route's responses to authorized callers. The
 * policy is in docs/versioning.md.
 * @param since the day of the release that announces the removal, `YYYY-MM-DD`
 * @param sunset the day from which the route may be removed: at least 12 months later
 */
export function Deprecated({ since, sunset }: { since: string; sunset: string }) {
  const deprecation: Deprecation = { since: new Date(since), sunset: new Date(sunset) };
  if (!(deprecation.sunset.getTime() - deprecation.since.getTime() >= LEAST_MS))
    throw new Error(
      `A route that is deprecated on ${since} must stay available for at least 12 months, so ${sunset} is too early.`,
    );
  return applyDecorators(
    // The `summary` option is set to undefined, because its default is an empty text, which would replace the summary
    // of the route.
    ApiOperation({ summary: undefined, deprecated: true }),
    SetMetadata(DEPRECATION, deprecation),
    UseGuards(DeprecationHeaders),
  );
}

/**
 * Sets the deprecation headers of a route. The class is a guard, so that the handler's error responses have the
 * headers, too.
 */
@Injectable()
class DeprecationHeaders implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly config: HttpConfig,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    const { since, sunset } = this.reflector.get<Deprecation>(DEPRECATION, context.getHandler());
    const response = context.switchToHttp().getResponse<Response>();
    // `Deprecation` has the date format of structured fields (RFC 9745 §2.1); `Sunset` has the HTTP date format (RFC
    // 8594 §3).
    response.setHeader('Deprecation', `@${since.getTime() / 1000}`);
    response.setHeader('Sunset', sunset.toUTCString());
    response.append('Link', `<${this.config.baseUrl}/guide/versioning.html>; rel="deprecation"; type="text/html"`);
    return true;
  }
}
