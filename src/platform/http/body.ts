import { isUtf8 } from 'node:buffer';
import { Injectable, SetMetadata, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { json, type Request, type Response } from 'express';
import { from, switchMap, type Observable } from 'rxjs';
import { malformedJson, unsupportedMediaType } from '../errors.js';

const DEFAULT_LIMIT = 256 * 1024;
const MOST_DEPTH = 64;
const BODY_LIMIT = 'body limit';
const METHODS_WITH_BODY = new Set(['POST', 'PUT', 'PATCH']);

/** Takes bodies of up to so many bytes on this route, in place of 256 KiB. */
export const BodyLimit = (bytes: number) => SetMetadata(BODY_LIMIT, bytes);

type Parser = ReturnType<typeof json>;

/**
 * Reads the JSON body once the guards have let the caller in: who may not send a body is refused before it is read.
 * The token service reads its forms itself.
 */
@Injectable()
export class BodyReader implements NestInterceptor {
  private readonly parsers = new Map<number, Parser>();

  constructor(private readonly reflector: Reflector) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const request = http.getRequest<Request>();
    if (!METHODS_WITH_BODY.has(request.method) || request.body !== undefined || !hasBody(request)) return next.handle();
    const limit = this.reflector.getAllAndOverride<number | undefined>(BODY_LIMIT, [
      context.getHandler(),
      context.getClass(),
    ]);
    return from(this.read(request, http.getResponse<Response>(), limit ?? DEFAULT_LIMIT)).pipe(
      switchMap(() => next.handle()),
    );
  }

  private async read(request: Request, response: Response, limit: number): Promise<void> {
    if (!isJson(request)) throw unsupportedMediaType.error();
    let parser = this.parsers.get(limit);
    // The type was judged above: body-parser would silently skip one whose parameters it cannot read.
    if (!parser)
      this.parsers.set(limit, (parser = json({ limit, strict: false, type: () => true, verify: assertUtf8Json })));
    await new Promise<void>((resolve, reject) =>
      parser(request, response, (error?: unknown) => (error ? reject(error) : resolve())),
    );
    if (isDeeperThan(request.body, MOST_DEPTH))
      throw malformedJson.error({ detail: `The JSON is nested more than ${MOST_DEPTH} levels deep.` });
  }
}

function hasBody(request: Request): boolean {
  return request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;
}

function isJson(request: Request): boolean {
  const [type = '', ...parameters] = (request.headers['content-type'] ?? '').toLowerCase().split(';');
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith('charset='));
  return type.trim() === 'application/json' && (charset === undefined || /^charset="?utf-8"?$/.test(charset));
}

/** Called by body-parser with the bytes, before it replaces what is not UTF-8 and takes an empty body for `{}`. */
function assertUtf8Json(_request: unknown, _response: unknown, bytes: Buffer): void {
  if (bytes.length === 0) throw malformedJson.error({ detail: 'The body is empty.' });
  if (!isUtf8(bytes)) throw malformedJson.error({ detail: 'The body is not valid UTF-8.' });
}

function isDeeperThan(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (depth === 0) return true;
  for (const member of Object.values(value)) if (isDeeperThan(member, depth - 1)) return true;
  return false;
}
