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
  app.use(requestContextMiddleware, requestLog(logger), securityHeaders(config), noStore);
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

/** Nothing but our own files, no markup made of text, and no form that the browser itself would send. */
const POLICY = {
  'default-src': ["'none'"],
  'script-src': ["'self'"],
  'style-src': ["'self'"],
  'img-src': ["'self'"],
  'connect-src': ["'self'"],
  'base-uri': ["'none'"],
  'form-action': ["'none'"],
  'frame-ancestors': ["'none'"],
};
const TRUSTED_TYPES = { 'require-trusted-types-for': ["'script'"], 'trusted-types': ["'none'"] };
/** Swagger UI styles its elements inline, draws data: images and makes markup of what it shows. */
const DOCUMENTS_POLICY = { ...POLICY, 'style-src': ["'self'", "'unsafe-inline'"], 'img-src': ["'self'", 'data:'] };

function securityHeaders(config: Config) {
  const headersWith = (directives: Record<string, string[]>) =>
    helmet({
      contentSecurityPolicy: { useDefaults: false, directives },
      xFrameOptions: { action: 'deny' },
      referrerPolicy: { policy: 'no-referrer' },
    });
  const [usual, ofDocuments] = [headersWith({ ...POLICY, ...TRUSTED_TYPES }), headersWith(DOCUMENTS_POLICY)];
  const documents = `${config.basePath}/docs`;
  return (request: Request, response: Response, next: NextFunction): void => {
    const isDocuments = request.path === documents || request.path.startsWith(`${documents}/`);
    (isDocuments ? ofDocuments : usual)(request, response, next);
  };
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
