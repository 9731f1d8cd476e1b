import type { NestExpressApplication } from '@nestjs/platform-express';
import { DocumentBuilder, SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';
import type { Express } from 'express';
import { version } from '../../package.json';
import { Config } from '../config.js';
import { NotificationRequest } from '../bookings/bookings.events.js';
import { webhooks } from '../notifications/notification-request.js';
import { notFound } from '../platform/errors.js';
import { SCOPES } from '../platform/context/caller.js';
import { addAnswers } from './answers.js';
import { addExamples, ANYWHERE, surroundingsOf } from './examples.js';
import { describeHeaders } from './headers.js';
import { describeMembers } from './members.js';
import { nameOperations } from './operation-ids.js';
import { describeOperations } from './operations.js';
import { addProblems } from './problem-places.js';
import { completeAnswers, nameCodes, withoutNullParameters } from './conventions.js';
import { swaggerFiles } from './swagger-files.js';
import { withSharedParts } from './shared-parts.js';
import { schemaList, SCHEMAS, standaloneSchema } from './schemas.js';
import { assertAccessDeclared, documentAccess } from '../platform/http/documented-access.js';

const SCOPE_MEANING: Record<(typeof SCOPES)[number], string> = {
  read: 'Read eligibilities, bookings and results',
  create: 'Create eligibilities',
  update: 'Update eligibilities and their vouchers',
  delete: 'Cancel eligibilities',
  launch: 'Get test launch URLs',
  results: 'Deliver results',
  bookings: 'Book, move and cancel appointments',
  admin: 'Administer the service',
  support: 'Daily work of operators, for the accounts that the user belongs to',
  partner: 'Read and repeat the notifications of one’s own subscriptions',
};

/**
 * Builds the OpenAPI 3.1 document from the code. The document's `servers` entry is `BASE_URL` or, without that setting,
 * only the path prefix, which is right for every host name.
 */
export function openApiDocument(
  app: NestExpressApplication,
  config: Config,
  surroundings = surroundingsOf(config.process) ?? ANYWHERE,
): OpenAPIObject {
  const base = config.http.publicUrl ?? config.http.basePath;
  // OpenAPI requires absolute addresses outside of `servers`. Without `BASE_URL`, these addresses therefore name
  // localhost.
  const address = config.http.publicUrl ?? `http://localhost:${config.http.port || 3000}${config.http.basePath}`;
  const builder = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Candidate Eligibility, Assessment Results and Event Notification Service')
    .setDescription(
      'The service decides who may take which exam and when. It accepts results from test drivers and notifies partner systems. Errors are problem documents (RFC 9457). The token service answers as RFC 6749 specifies. [All operations on one page](guide/api.html), which the search of a browser finds.',
    )
    .setVersion(version)
    .addServer(base === '' ? '/' : base)
    .setExternalDoc('Each schema as a separate JSON Schema (2020-12)', `${address}${SCHEMAS}`)
    .addOAuth2(
      {
        type: 'oauth2',
        description: 'client_id and client_secret are the consumer key and the consumer secret of the application.',
        flows: {
          password: {
            tokenUrl: `${base}/token`,
            refreshUrl: `${base}/token`,
            scopes: SCOPE_MEANING,
          },
          clientCredentials: { tokenUrl: `${base}/token`, scopes: SCOPE_MEANING },
        },
      },
      'oauth2',
    )
    .addBasicAuth(
      { type: 'http', scheme: 'basic', description: 'Consumer key and consumer secret of the application.' },
      'client',
    )
    .build();
  const document = SwaggerModule.createDocument(app, builder, {
    ignoreGlobalPrefix: true,
    extraModels: [NotificationRequest],
  });
  // The members that only OpenAPI 3.1 has are assigned separately, because the types of @nestjs/swagger cover only
  // OpenAPI 3.0.
  const license = { name: 'All rights reserved', identifier: 'LicenseRef-all-rights-reserved' };
  Object.assign(document.info, { license });
  Object.assign(document, { webhooks });
  documentAccess(app, document);
  nameOperations(document);
  describeOperations(document);
  completeAnswers(document);
  describeHeaders(document);
  describeMembers(document);
  nameCodes(document);
  withoutNullParameters(document);
  addExamples(document, surroundings);
  addAnswers(document, surroundings);
  addProblems(document, config.http.publicUrl ?? `http://localhost:3000${config.http.basePath}`);
  return withNullTypes(document);
}

/**
 * Converts `nullable: true`, which @nestjs/swagger writes for OpenAPI 3.0, to the form of 3.1, where the type lists
 * null.
 */
function withNullTypes<T>(schema: T): T {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map(withNullTypes) as T;
  const { nullable, ...rest } = schema as Record<string, unknown>;
  const converted = Object.fromEntries(Object.entries(rest).map(([name, member]) => [name, withNullTypes(member)]));
  if (nullable !== true) return (nullable === undefined ? converted : { ...converted, nullable }) as T;
  if (typeof converted['type'] !== 'string') return { anyOf: [converted, { type: 'null' }] } as T;
  const values = converted['enum'] as unknown[] | undefined;
  return { ...converted, type: [converted['type'], 'null'], ...(values ? { enum: [...values, null] } : {}) } as T;
}

/**
 * Serves Swagger UI at /docs, the OpenAPI document at /openapi.json and /openapi.yaml, and its schemas below
 * /openapi/schemas.
 */
export function serveDocuments(app: NestExpressApplication, config: Config): void {
  assertAccessDeclared(app);
  // The document is built when it is first requested, so that the service starts 0.15 s faster.
  let built: OpenAPIObject | undefined;
  const document = () => {
    const surroundings = surroundingsOf(config.process);
    // Until the sandbox's data exist, the document has no examples and is not cached.
    if (surroundings === null) return openApiDocument(app, config);
    return (built ??= openApiDocument(app, config, surroundings));
  };
  let json: string | undefined;
  let yaml: string | undefined;
  const server: Express = app.getHttpAdapter().getInstance();
  server.get(`${config.http.basePath}/openapi.json`, (_request, response) => {
    response.type('application/json').send((json ??= JSON.stringify(document())));
  });
  server.get(`${config.http.basePath}/openapi.yaml`, async (_request, response) => {
    if (yaml === undefined) yaml = (await import('yaml')).stringify(document());
    response.type('application/yaml').send(yaml);
  });
  server.get(`${config.http.basePath}${SCHEMAS}`, (_request, response) => {
    response.json(schemaList(document(), config.http.baseUrl));
  });
  server.get(`${config.http.basePath}${SCHEMAS}/:name.json`, ({ params }, response, next) => {
    const schema = standaloneSchema(document(), params.name, config.http.baseUrl);
    if (schema) response.type('application/schema+json').send(JSON.stringify(schema));
    else next(notFound.error());
  });
  server.use(`${config.http.basePath}/docs`, swaggerFiles());
  SwaggerModule.setup(`${config.http.basePath}/docs`, app, () => withSharedParts(document()), {
    raw: false,
    swaggerOptions: {
      persistAuthorization: false,
      // All sections of Swagger UI are collapsed at first, to keep the page below 150 rows. From 150 rows on, Swagger
      // UI renders only the visible rows, and the browser's own search would not find the rest.
      docExpansion: 'none',
      displayRequestDuration: true,
      tryItOutEnabled: true,
      requestInterceptor: withOrWithoutSession,
      onComplete: nameServers,
    },
    customSiteTitle: 'API · Admit',
  });
}

/**
 * Names the list of servers for screen readers, because Swagger UI gives it no label. The function's text is inserted
 * into the page and runs in the browser.
 */
function nameServers(): void {
  interface Found {
    setAttribute(name: string, value: string): void;
  }
  const { document } = globalThis as unknown as { document: { getElementById(id: string): Found | null } };
  const list = document.getElementById('servers');
  // The list appears only some time after Swagger UI has called this function.
  if (list === null) setTimeout(nameServers, 100);
  else list.setAttribute('aria-label', 'Server');
}

interface SwaggerRequest {
  url: string;
  credentials: string;
  headers: Record<string, string>;
}

/**
 * Decides whether a call from Swagger UI sends cookies. The function's text is inserted into the page and runs in the
 * browser, so it can only use its argument. On the page to which the console links (`/docs?session`), calls without a
 * token use the console's session. All other calls are sent without credentials. Otherwise, the browser would ask for a
 * password when the token service responds with a Basic challenge.
 */
function withOrWithoutSession(request: SwaggerRequest): SwaggerRequest {
  const { location } = globalThis as unknown as { location: { search: string } };
  const isToken = request.url.endsWith('/token') || 'Authorization' in request.headers;
  if (location.search !== '?session' || isToken) return Object.assign(request, { credentials: 'omit' });
  return Object.assign(request, {
    credentials: 'same-origin',
    headers: { ...request.headers, 'Console-Request': '1' },
  });
}
