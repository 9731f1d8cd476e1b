import type { AddressInfo } from 'node:net';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { NextFunction, Request, Response } from 'express';
import helmet from 'helmet';
import { AppModule } from './app.module.js';
import { Config } from './config.js';
import { serveDocuments } from './documents.js';
import { requestContextMiddleware } from './platform/http/request-context.js';
import { requestLog } from './platform/http/request-log.js';
import { Logger, NestLogger } from './platform/logger.js';

/**
 * The application, composed and initialised but not listening. The schema must be up to date.
 * Used by main.ts and by the tests alike.
 */
export async function createApp(config: Config, databaseUrl: string): Promise<NestExpressApplication> {
  const app = await NestFactory.create<NestExpressApplication>(AppModule.with(config, databaseUrl), {
    bodyParser: false,
    bufferLogs: true,
    abortOnError: false,
  });
  const logger = app.get(Logger);
  app.useLogger(new NestLogger(logger));
  app.set('trust proxy', config.trustProxy);
  app.set('etag', false);
  app.disable('x-powered-by');
  app.use(requestContextMiddleware, requestLog(logger), securityHeaders(), noStore);
  if (!config.roles.has('api')) app.use(healthOnly(config));
  if (config.basePath !== '') app.setGlobalPrefix(config.basePath);
  serveDocuments(app, config);
  await app.init();
  return app;
}

/** Listens and completes `config.baseUrl` when the port was left to the system. */
export async function listen(app: NestExpressApplication, config: Config): Promise<void> {
  await app.listen(config.port, config.host);
  const { port } = app.getHttpServer().address() as AddressInfo;
  if (config.baseUrl === '') config.baseUrl = `http://localhost:${port}${config.basePath}`;
}

function securityHeaders() {
  return helmet({
    // Nothing but our own pages; Swagger UI styles its elements inline and draws data: images.
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        'default-src': ["'none'"],
        'script-src': ["'self'"],
        'style-src': ["'self'", "'unsafe-inline'"],
        'img-src': ["'self'", 'data:'],
        'connect-src': ["'self'"],
        'font-src': ["'self'"],
        'base-uri': ["'none'"],
        'form-action': ["'self'"],
        'frame-ancestors': ["'none'"],
      },
    },
    xFrameOptions: { action: 'deny' },
    referrerPolicy: { policy: 'no-referrer' },
  });
}

function noStore(_request: Request, response: Response, next: NextFunction): void {
  response.setHeader('Cache-Control', 'no-store');
  // HTTP/1.0 caches know only this one (RFC 6749 §5.1 asks for both).
  response.setHeader('Pragma', 'no-cache');
  next();
}

/** A process without the role `api` answers for its health and nothing else. */
function healthOnly(config: Config) {
  return (request: Request, response: Response, next: NextFunction): void => {
    if (request.path.startsWith(`${config.basePath}/health/`)) next();
    else response.status(404).end();
  };
}
