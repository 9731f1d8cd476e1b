import type { NextFunction, Request, Response } from 'express';
import type { Logger } from '../observability/logger.js';
import { requestContext } from '../context/request-context.js';

/** One line for each answered request. The route's pattern stands for the path, whose values may be personal data. */
export function requestLog(logger: Logger) {
  return (request: Request, response: Response, next: NextFunction): void => {
    const started = performance.now();
    const context = requestContext();
    response.once('close', () => {
      logger.info(
        {
          request_id: context.requestId,
          method: request.method,
          route: (request.route as { path?: string } | undefined)?.path ?? null,
          status: response.statusCode,
          duration_ms: Math.round((performance.now() - started) * 10) / 10,
          application: context.caller?.consumerKey,
          aborted: response.writableFinished ? undefined : true,
        },
        'request',
      );
    });
    next();
  };
}
