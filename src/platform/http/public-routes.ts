import { createHash } from 'node:crypto';
import type { INestApplication } from '@nestjs/common';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import type { HttpConfig } from './http.config.js';
import { notFound } from '../errors.js';
import { AddressLimit } from '../overload/address-limit.js';

/**
 * Matches the paths of routes that concern one person and that unauthenticated callers can call. Requests to these
 * routes count towards the quota of the caller's address.
 */
const COUNTED = /^\/(launch|console\/(sessions?|sign-in))(\/|$)/;
/**
 * Matches the paths of documents and pages that are the same for everybody. Clients may therefore cache and revalidate
 * them.
 */
const DOCUMENTS =
  /^\/?$|^\/(openapi(\.json|\.yaml|\/schemas)|docs|problems|console|guide|look|llms\.txt|\.well-known)(\/|$)/;
/**
 * Matches the paths of the Swagger UI files that are served. Other files of the package, such as source maps, are not.
 */
const DOCS_FILE = /^\/docs\/./;
const SERVED_DOCS_FILE =
  /^\/docs\/(docs\/)?(index\.html|swagger-ui-init\.js|swagger-ui\.css|swagger-ui-bundle\.js|swagger-ui-standalone-preset\.js|favicon-(16x16|32x32)\.png)$/;
const MOST_REMEMBERED = 1000;

/**
 * Handles the public routes: applies a quota for each address, and adds an `ETag` to documents. If the client already
 * has the current version of a document, the response is 304.
 */
export function publicRoutes(app: INestApplication, config: HttpConfig): RequestHandler {
  const limit = app.get(AddressLimit);
  const tags = new EntityTags();
  return (request: Request, response: Response, next: NextFunction): void => {
    const path = request.path.slice(config.basePath.length).toLowerCase();
    try {
      if (COUNTED.test(path)) limit.count(request, response);
      else if (DOCUMENTS.test(path)) {
        limit.count(request, response);
        if (DOCS_FILE.test(path) && !SERVED_DOCS_FILE.test(path)) throw notFound.error();
        tags.add(request, response, path);
        chargeLength(limit, request, response);
      }
      // For a request with a bearer token, the response shows the quota of the token's caller. For other requests, the
      // response shows the quota of the address.
      else if (!/^bearer /i.test(request.headers.authorization ?? '')) limit.show(request, response);
    } catch (error) {
      next(error);
      return;
    }
    next();
  };
}

/**
 * Charges the length of the response to the quota of the address when the head of the response is written. At that
 * time, the length is known even if the body is a streamed file.
 */
function chargeLength(limit: AddressLimit, request: Request, response: Response): void {
  const writeHead = response.writeHead.bind(response) as (...rest: unknown[]) => Response;
  response.writeHead = ((...rest: unknown[]) => {
    limit.charge(request, response, Number(response.getHeader('Content-Length') ?? 0));
    return writeHead(...rest);
  }) as Response['writeHead'];
}

/** Sets the `ETag` of responses when they are sent (RFC 9110 §8.8.3). Streamed files already have an `ETag`. */
class EntityTags {
  /** The latest content of each path, with its `ETag`. The `ETag` is cached, because most documents never change. */
  private readonly known = new Map<string, { content: string | Buffer; tag: string }>();

  add(request: Request, response: Response, path: string): void {
    const end = response.end.bind(response) as (...rest: unknown[]) => Response;
    const forbidden = response.getHeader('Cache-Control');
    // The `Cache-Control` header of a request is meant for caches (RFC 9111 §5.2.1). The header is removed from
    // requests for public documents, because Express would otherwise ignore the condition of a conditional request.
    delete request.headers['cache-control'];
    // Caches may store a public document, but must revalidate it before each use.
    response.setHeader('Cache-Control', 'no-cache');
    response.removeHeader('Pragma');
    // The content of the response is kept until its `ETag` is computed, because Express does not pass the content on if
    // the request is a HEAD.
    let headed: unknown;
    if (request.method === 'HEAD') {
      const send = response.send.bind(response) as (content?: unknown) => Response;
      response.send = ((content?: unknown) => send((headed = content))) as Response['send'];
    }
    response.end = ((content?: unknown, ...rest: unknown[]) => {
      if (response.headersSent || response.statusCode === 304) return end(content, ...rest);
      if (response.statusCode !== 200) {
        response.setHeader('Cache-Control', forbidden!);
        return end(content, ...rest);
      }
      const body = content ?? headed;
      if (typeof body !== 'string' && !Buffer.isBuffer(body)) return end(content, ...rest);
      response.setHeader('ETag', this.tagOf(`${path} ${response.getHeader('Content-Type') as string}`, body));
      if (!request.fresh) return end(content, ...rest);
      response.statusCode = 304;
      for (const name of ['Content-Length', 'Content-Type']) response.removeHeader(name);
      return end();
    }) as Response['end'];
  }

  private tagOf(key: string, content: string | Buffer): string {
    const known = this.known.get(key);
    if (known && (known.content === content || Buffer.compare(bytesOf(known.content), bytesOf(content)) === 0))
      return known.tag;
    const tag = `"${createHash('sha256').update(content).digest('base64url')}"`;
    if (this.known.size >= MOST_REMEMBERED) this.known.clear();
    this.known.set(key, { content, tag });
    return tag;
  }
}

function bytesOf(content: string | Buffer): Buffer {
  return typeof content === 'string' ? Buffer.from(content) : content;
}
