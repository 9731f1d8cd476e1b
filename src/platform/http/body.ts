import { isUtf8 } from 'node:buffer';
import { Injectable, SetMetadata, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { json, raw, type Request, type Response } from 'express';
import { finalize, from, switchMap, type Observable } from 'rxjs';
import { malformedJson, unsupportedMediaType } from '../errors.js';
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
export const BodyLimit = (bytes: number) => SetMetadata(BODY_LIMIT, bytes);

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
 * Reads the JSON body once the guards have let the caller in: who may not send a body is refused before it is read.
 * The token service reads its forms itself.
 */
@Injectable()
export class BodyReader implements NestInterceptor {
  private readonly parsers = new Map<string, Parser>();
  private readonly held = new BodyRoom(LARGE_BODIES_HELD);
  private readonly inWork = new BodyRoom(LARGE_BODIES_IN_WORK);

  constructor(private readonly reflector: Reflector) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const request = http.getRequest<Request>();
    if (!METHODS_WITH_BODY.has(request.method) || request.body !== undefined || !hasBody(request)) return next.handle();
    const route = [context.getHandler(), context.getClass()];
    const limit = this.reflector.getAllAndOverride<number | undefined>(BODY_LIMIT, route) ?? DEFAULT_LIMIT;
    const asBytes = this.reflector.getAllAndOverride<boolean | undefined>(RAW_BODY, route) ?? false;
    const read = (): Promise<void> => this.read(request, http.getResponse<Response>(), limit, asBytes);
    const bytes = announcedBytes(request, limit);
    if (bytes <= DEFAULT_LIMIT || bytes > limit) return from(read()).pipe(switchMap(() => next.handle()));
    return from(this.readLarge(request, bytes, read)).pipe(switchMap((leave) => next.handle().pipe(finalize(leave))));
  }

  /** Resolves with what gives the room back that the body takes. */
  private async readLarge(request: Request, bytes: number, read: () => Promise<void>): Promise<() => void> {
    const letGo = await this.held.enter(bytes);
    try {
      await read();
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

  private async read(request: Request, response: Response, limit: number, asBytes: boolean): Promise<void> {
    if (!isJson(request)) throw unsupportedMediaType.error();
    const name = `${asBytes} ${limit}`;
    let parser = this.parsers.get(name);
    if (!parser) this.parsers.set(name, (parser = parserOf(limit, asBytes)));
    const failure = await new Promise<unknown>((resolve) => parser(request, response, resolve));
    if (failure) throw failure as Error;
    if (!asBytes) assertDepth(request.body);
  }
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
