import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { currentSpan } from '../context/current-span.js';
import { tracing } from '../observability/tracing.js';

/**
 * Creates a tracing span for each request while tracing is on. The span is named after the pattern of the route instead
 * of the path.
 */
export function requestSpans(): RequestHandler[] {
  if (tracing === null) return [];
  return [
    (request: Request, response: Response, next: NextFunction): void => {
      const { method } = request;
      const given = request.headers['traceparent'];
      const attributes = { 'http.request.method': method, 'url.scheme': request.protocol };
      const span = tracing?.begin(method, 'SERVER', attributes, typeof given === 'string' ? given : null);
      if (!span) return next();
      response.once('close', () => {
        const route = (request.route as { path?: string } | undefined)?.path;
        const { statusCode } = response;
        if (route !== undefined) span.span.updateName(`${method} ${route}`);
        span.end(
          { 'http.response.status_code': statusCode, ...(route === undefined ? {} : { 'http.route': route }) },
          statusCode >= 500 ? String(statusCode) : null,
        );
      });
      currentSpan.run(span, next);
    },
  ];
}
