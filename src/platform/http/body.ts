import { isUtf8 } from 'node:buffer';
import {
  applyDecorators,
  Injectable,
  SetMetadata,
  UseInterceptors,
  type CallHandler,
  type CanActivate,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { json, raw, type Request, type Response } from 'express';
import { finalize, from, switchMap, type Observable } from 'rxjs';
import { malformedJson, unsupportedMediaType } from '../errors.js';
import { ACCESS, type AccessRule } from './access.js';
import { BodyRoom } from './body-room.js';

const DEFAULT_LIMIT = 256 * 1024;
const MOST_DEPTH = 64;
/**
 * Bytes of large bodies that the process holds, and of those that it works on, which costs some five times their size.
 * Two numbers, so that a slow sender keeps nobody from being served.
 */
const LARGE_BODIES_HELD = 24 * 1024 * 1024;
const LARGE_BODIES_IN_WORK = 8 * 1024 * 1024;
const BODY_LIMIT = 'body limit';
const RAW_BODY = 'raw body';
const METHODS_WITH_BODY = new Set(['POST', 'PUT', 'PATCH']);

/** Takes bodies of up to so many bytes on this route, in place of 256 KiB. */
export const BodyLimit = (bytes: number) =>
  applyDecorators(SetMetadata(BODY_LIMIT, bytes), UseInterceptors(LargeBodyReader));

/** Leaves the body of this route as the bytes that came, which are UTF-8; the handler reads them with `parseJson`. */
export const RawBody = () => SetMetadata(RAW_BODY, true);

/** @throws DomainError malformed_json */
export function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw malformedJson.error();
  }
  assertDepth(value);
  return value;
}

type Parser = ReturnType<typeof json>;

/**
 * Reads the JSON body of an ordinary request, after the guards that let the caller in. A guard and no interceptor:
 * one interceptor takes every request through RxJS, and a read then takes 1.13 of the processor time.
 * The token service reads its forms itself.
 */
@Injectable()
export class BodyGate implements CanActivate {
  private readonly parser = parserOf(DEFAULT_LIMIT, false);

  constructor(private readonly reflector: Reflector) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const http = context.switchToHttp();
    const request = http.getRequest<Request>();
    if (!METHODS_WITH_BODY.has(request.method) || !hasBody(request)) return true;
    const route = [context.getHandler(), context.getClass()];
    const access = this.reflector.getAllAndOverride<AccessRule | undefined>(ACCESS, route);
    if (access === 'client' || this.reflector.getAllAndOverride<number | undefined>(BODY_LIMIT, route) !== undefined)
      return true;
    await read(this.parser, request, http.getResponse<Response>());
    assertDepth(request.body);
    return true;
  }
}

/** Reads the body of a route with a `BodyLimit` of its own, and holds its room until the handler has ended. */
@Injectable()
class LargeBodyReader implements NestInterceptor {
  private readonly parsers = new Map<string, Parser>();
  private readonly held = new BodyRoom(LARGE_BODIES_HELD);
  private readonly inWork = new BodyRoom(LARGE_BODIES_IN_WORK);

  constructor(private readonly reflector: Reflector) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const request = http.getRequest<Request>();
    if (!METHODS_WITH_BODY.has(request.method) || !hasBody(request)) return next.handle();
    const route = [context.getHandler(), context.getClass()];
    const limit = this.reflector.getAllAndOverride<number>(BODY_LIMIT, route);
    const asBytes = this.reflector.getAllAndOverride<boolean | undefined>(RAW_BODY, route) ?? false;
    const parse = (): Promise<void> => this.parse(request, http.getResponse<Response>(), limit, asBytes);
    const bytes = announcedBytes(request, limit);
    if (bytes <= DEFAULT_LIMIT || bytes > limit) return from(parse()).pipe(switchMap(() => next.handle()));
    return from(this.readLarge(request, bytes, parse)).pipe(switchMap((leave) => next.handle().pipe(finalize(leave))));
  }

  /** Resolves with what gives the room back that the body takes. */
  private async readLarge(request: Request, bytes: number, parse: () => Promise<void>): Promise<() => void> {
    const letGo = await this.held.enter(bytes);
    try {
      await parse();
    } catch (error) {
      letGo();
      throw error;
    }
    const rest = await this.inWork.enter(bytes);
    return () => {
      request.body = undefined;
      rest();
      letGo();
    };
  }

  private async parse(request: Request, response: Response, limit: number, asBytes: boolean): Promise<void> {
    const name = `${asBytes} ${limit}`;
    let parser = this.parsers.get(name);
    if (!parser) this.parsers.set(name, (parser = parserOf(limit, asBytes)));
    await read(parser, request, response);
    if (!asBytes) assertDepth(request.body);
  }
}

async function read(parser: Parser, request: Request, response: Response): Promise<void> {
  if (!isJson(request)) throw unsupportedMediaType.error();
  const failure = await new Promise<unknown>((resolve) => parser(request, response, resolve));
  if (failure) throw failure as Error;
}

// The type was judged before: body-parser would silently skip one whose parameters it cannot read.
const anyType = (): boolean => true;

function parserOf(limit: number, asBytes: boolean): Parser {
  return asBytes
    ? raw({ limit, type: anyType, verify: assertUtf8Json })
    : json({ limit, strict: false, type: anyType, verify: assertUtf8Json });
}

/** What the body takes at most: an unknown or packed length may be anything up to the limit. */
function announcedBytes(request: Request, limit: number): number {
  const plain = (request.headers['content-encoding'] ?? 'identity').toLowerCase() === 'identity';
  const length = request.headers['content-length'];
  return plain && length !== undefined ? Number(length) : limit;
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

function assertDepth(value: unknown): void {
  if (isDeeperThan(value, MOST_DEPTH))
    throw malformedJson.error({ detail: `The JSON is nested more than ${MOST_DEPTH} levels deep.` });
}

function isDeeperThan(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (depth === 0) return true;
  for (const member of Object.values(value)) if (isDeeperThan(member, depth - 1)) return true;
  return false;
}
