import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket, type AddressInfo } from 'node:net';
import { NestFactory } from '@nestjs/core';
import { CommandBus } from '@nestjs/cqrs';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import helmet from 'helmet';
import { AppModule } from './app.module.js';
import { Config } from './config.js';
import { serveDocuments } from './openapi/document.js';
import { Clock } from './platform/clock.js';
import { BodyGate } from './platform/http/body.js';
import { boundConnections } from './platform/http/connection.js';
import { useCursorKeys } from './platform/http/cursor.js';
import { JsonAdapter } from './platform/http/json-adapter.js';
import type { HttpConfig } from './platform/http/http.config.js';
import { publicRoutes } from './platform/http/public-routes.js';
import { RequestForm } from './platform/http/request-form.js';
import { requestContextMiddleware } from './platform/context/request-context.js';
import { requestLog } from './platform/http/request-log.js';
import { RequestMetrics } from './platform/http/request-metrics.js';
import { refuseAmbiguous } from './platform/http/unambiguous.js';
import { answerUnreadable } from './platform/http/unreadable.js';
import { requestSpans } from './platform/http/request-spans.js';
import { installClock } from './sandbox/clock-schema.js';
import { Logger, NestLogger } from './platform/observability/logger.js';
import { startTracing, tracing } from './platform/observability/tracing.js';

/**
 * Creates the application for main.ts and the tests. The application is initialised but does not listen yet. The
 * database schema must be up to date.
 */
export async function createApp(config: Config, databaseUrl: string): Promise<NestExpressApplication> {
  await startTracing(config.observability.otlpEndpoint);
  if (config.process.sandbox) await installClock(databaseUrl);
  useCursorKeys(config.secrets.keys);
  const app = await NestFactory.create<NestExpressApplication>(AppModule.with(config, databaseUrl), new JsonAdapter(), {
    bodyParser: false,
    bufferLogs: true,
    abortOnError: false,
  });
  const logger = app.get(Logger);
  app.useLogger(new NestLogger(logger));
  boundConnections(app.getHttpServer(), config.http.trustProxy === false);
  answerUnreadable(app.getHttpServer(), config.http, USUAL_HEADERS);
  app.set('trust proxy', config.http.trustProxy);
  app.setLocal('http', config.http);
  app.set('etag', false);
  app.disable('x-powered-by');
  traceCommands(app.get(CommandBus));
  app.use(
    ...requestSpans(),
    requestContextMiddleware,
    requestLog(logger, app.get(RequestMetrics)),
    ...(config.process.sandbox ? [sandboxDate(app.get(Clock))] : []),
    staticHeaders(config.http),
    refuseAmbiguous,
    publicRoutes(app, config.http),
  );
  // The access guard, which is declared in the module tree, runs before these guards. A caller without access is
  // therefore refused before the body of the request is read.
  app.useGlobalGuards(app.get(BodyGate), app.get(RequestForm));
  if (!config.process.roles.has('api')) app.use(healthOnly(config.http));
  if (config.http.basePath !== '') app.setGlobalPrefix(config.http.basePath);
  serveDocuments(app, config);
  await app.init();
  return app;
}

/** Creates a tracing span for each command while tracing is on. */
function traceCommands(bus: CommandBus): void {
  if (tracing === null) return;
  const execute: (command: object) => Promise<unknown> = bus.execute.bind(bus);
  bus.execute = (command: object) =>
    tracing === null
      ? execute(command)
      : tracing.within(command.constructor.name, 'INTERNAL', {}, () => execute(command));
}

/**
 * Starts listening. With `PORT=0`, also completes the service's address with the port that the operating system chose.
 */
export async function listen(app: NestExpressApplication, { http }: Config): Promise<void> {
  await app.listen(http.port, http.host);
  const { port } = app.getHttpServer().address() as AddressInfo;
  http.listensAt(port);
}

/**
 * The Content Security Policy of all pages except /docs. Only the service's own files are loaded. Scripts cannot turn
 * text into markup, and the browser submits no forms.
 */
const POLICY = {
  'default-src': ["'none'"],
  'script-src': ["'self'"],
  'style-src': ["'self'"],
  'img-src': ["'self'"],
  'font-src': ["'self'"],
  'connect-src': ["'self'"],
  'base-uri': ["'none'"],
  'form-action': ["'none'"],
  'frame-ancestors': ["'none'"],
};
const TRUSTED_TYPES = { 'require-trusted-types-for': ["'script'"], 'trusted-types': ["'none'"] };
/**
 * The Content Security Policy of /docs. It is less strict, because Swagger UI styles elements inline, shows `data:`
 * images and builds markup from its content.
 */
const DOCUMENTS_POLICY = { ...POLICY, 'style-src': ["'self'", "'unsafe-inline'"], 'img-src': ["'self'", 'data:'] };

const USUAL_HEADERS = headersWith({ ...POLICY, ...TRUSTED_TYPES });
const DOCUMENTS_HEADERS = headersWith(DOCUMENTS_POLICY);

/**
 * Sets the headers that every response has. The headers never change, so Helmet computes them only once: running its 13
 * handlers for each request would cost measurable processor time.
 */
function staticHeaders({ basePath }: HttpConfig): RequestHandler {
  const documents = `${basePath}/docs`.toLowerCase();
  return (request: Request, response: Response, next: NextFunction): void => {
    // The comparison with the path of /docs ignores case, as the router does.
    const path = request.path.toLowerCase();
    const isDocuments = path === documents || path.startsWith(`${documents}/`);
    for (const [name, value] of isDocuments ? DOCUMENTS_HEADERS : USUAL_HEADERS) response.setHeader(name, value);
    next();
  };
}

/**
 * Sets the `Date` header to the sandbox's time. Clients such as the console use this header to compute how old an item
 * is.
 */
function sandboxDate(clock: Clock): RequestHandler {
  return (_request: Request, response: Response, next: NextFunction): void => {
    response.setHeader('Date', clock.now().toUTCString());
    next();
  };
}

function headersWith(directives: Record<string, string[]>): [string, string][] {
  const ofHelmet = headersSetBy(
    helmet({
      contentSecurityPolicy: { useDefaults: false, directives },
      xFrameOptions: { action: 'deny' },
      referrerPolicy: { policy: 'no-referrer' },
    }),
  );
  // Cache-Control and Pragma are both set, because HTTP/1.0 caches support only Pragma (RFC 6749 §5.1).
  return [...ofHelmet, ['Cache-Control', 'no-store'], ['Pragma', 'no-cache']];
}

/** Returns the headers that the middleware sets on every response. */
function headersSetBy(middleware: RequestHandler): [string, string][] {
  const request = new IncomingMessage(new Socket());
  const response = new ServerResponse(request);
  middleware(request as Request, response as Response, (error?: unknown) => {
    if (error) throw error as Error;
  });
  return response.getHeaderNames().map((name) => [name, String(response.getHeader(name))]);
}

/** In a process without the `api` role, refuses every route except the health routes. */
function healthOnly({ basePath }: HttpConfig) {
  const health = `${basePath}/health/`.toLowerCase();
  return (request: Request, response: Response, next: NextFunction): void => {
    if (request.path.toLowerCase().startsWith(health)) next();
    else response.status(404).end();
  };
}
