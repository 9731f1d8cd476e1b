import type { NextFunction, Request, Response } from 'express';
import type { Logger } from '../observability/logger.js';
import { requestContext } from '../context/request-context.js';
import type { RequestMetrics } from './request-metrics.js';

/**
 * Logs and measures each request after its response was sent. The log contains the pattern of the route instead of the
 * path, because values in the path may be personal data.
 */
export function requestLog(logger: Logger, metrics: RequestMetrics) {
  return (request: Request, response: Response, next: NextFunction): void => {
    const started = performance.now();
    const context = requestContext();
    metrics.began();
    response.once('close', () => {
      const milliseconds = performance.now() - started;
      const route = (request.route as { path?: string } | undefined)?.path ?? null;
      metrics.ended(request.method, route, response.statusCode, milliseconds);
      logger.info(
        {
          request_id: context.requestId,
          method: request.method,
          route,
          status: response.statusCode,
          duration_ms: Math.round(milliseconds * 10) / 10,
          application: context.caller?.consumerKey,
          aborted: response.writableFinished ? undefined : true,
        },
        'request',
      );
    });
    next();
  };
}
