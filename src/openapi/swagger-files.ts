import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { RequestHandler, Response } from 'express';
import { brotli } from '../platform/http/brotli.js';

const folder = dirname(createRequire(__filename).resolve('swagger-ui-dist/package.json'));

/** The files of the package that the page of Swagger UI loads, with their media types. */
const FILES: Record<string, string> = {
  '/swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  '/swagger-ui-standalone-preset.js': 'text/javascript; charset=utf-8',
  '/swagger-ui.css': 'text/css; charset=utf-8',
};
/** The script with the OpenAPI document, which @nestjs/swagger generates. */
const DOCUMENT = '/swagger-ui-init.js';

/**
 * Sends the files of Swagger UI in compressed form. Otherwise, the page would load several megabytes. Each file is
 * compressed at its first request.
 */
export function swaggerFiles(): RequestHandler {
  const kept = new Map<string, Promise<Buffer>>();
  const compressed = (text: string | Buffer, key: string) => {
    const known = kept.get(key) ?? brotli(text);
    kept.set(key, known);
    return known;
  };
  return (request, response, next) => {
    const { path } = request;
    const isFile = path in FILES;
    if (request.method !== 'GET' || !(isFile || path === DOCUMENT)) return next();
    response.vary('Accept-Encoding');
    if (request.acceptsEncodings('br') === false) return next();
    if (isFile) {
      const content = kept.has(path) ? '' : readFileSync(join(folder, path));
      compressed(content, path).then((bytes) => sendCompressed(response, bytes, FILES[path]), next);
      return;
    }
    const send = response.send.bind(response);
    response.send = (body: string) => {
      response.send = send;
      // The key of the compressed document contains its length, because the document changes once, after the sandbox's
      // objects have been created.
      compressed(body, `${path} ${body.length}`).then(
        (bytes) => sendCompressed(response, bytes, FILES['/swagger-ui-bundle.js']),
        next,
      );
      return response;
    };
    next();
  };
}

function sendCompressed(response: Response, bytes: Buffer, type: string): void {
  response.setHeader('Content-Encoding', 'br');
  response.setHeader('Content-Type', type);
  response.send(bytes);
}
