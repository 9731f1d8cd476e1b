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
  /** When it was announced. */
  readonly since: Date;
  /** When it may be gone. */
  readonly sunset: Date;
}

/**
 * Announces that a route will go: in the document, and on its answers to callers who may call it. docs/versioning.md is
 * the policy.
 * @param since the day of the release that announces it, `YYYY-MM-DD`
 * @param sunset the day from which on it may be gone: 12 months later, or more
 */
export function Deprecated({ since, sunset }: { since: string; sunset: string }) {
  const deprecation: Deprecation = { since: new Date(since), sunset: new Date(sunset) };
  if (!(deprecation.sunset.getTime() - deprecation.since.getTime() >= LEAST_MS))
    throw new Error(`What is deprecated on ${since} answers for 12 months at least: not until ${sunset}.`);
  return applyDecorators(
    // Without its empty default the summary of the route stays.
    ApiOperation({ summary: undefined, deprecated: true }),
    SetMetadata(DEPRECATION, deprecation),
    UseGuards(DeprecationHeaders),
  );
}

/** Tells the caller. A guard, so that refusals of the handler bear the headers too. */
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
