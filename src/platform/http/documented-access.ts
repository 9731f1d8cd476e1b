import type { INestApplication } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { DiscoveryService, MetadataScanner, Reflector } from '@nestjs/core';
import type { OpenAPIObject } from '@nestjs/swagger';
import { ACCESS, BOUND, boundOf, type AccessRule, type Bound } from './access.js';

interface Route {
  /** The operation id that @nestjs/swagger assigns: `Controller_handler`. */
  operationId: string;
  access: AccessRule | undefined;
  /** The limit that keeps the route within its caller's accounts. */
  bound: Bound | undefined;
}

/** Returns every route of the application with its declared access. */
export function declaredRoutes(app: INestApplication): Route[] {
  const reflector = app.get(Reflector);
  const scanner = new MetadataScanner();
  return app
    .get(DiscoveryService)
    .getControllers()
    .flatMap(({ metatype, instance }) => {
      if (!metatype || !instance) return [];
      const prototype = Object.getPrototypeOf(instance) as Record<string, () => unknown>;
      return scanner
        .getAllMethodNames(prototype)
        .filter((name) => Reflect.hasMetadata(METHOD_METADATA, prototype[name]))
        .map((name) => {
          const declared = <Value>(key: string) =>
            reflector.getAllAndOverride<Value | undefined>(key, [prototype[name], metatype as never]);
          const access = declared<AccessRule>(ACCESS);
          const path = [metatype, prototype[name]].flatMap(
            (part) => Reflect.getMetadata(PATH_METADATA, part) as string,
          );
          return {
            operationId: `${metatype.name}_${name}`,
            access,
            bound: boundOf(access, path.join('/'), declared<Bound>(BOUND)),
          };
        });
    });
}

/**
 * Checks that every route declares who may call it, and which accounts it is limited to.
 * @throws Error with the names of all routes that lack one of these declarations
 */
export function assertAccessDeclared(app: INestApplication): void {
  const silent = declaredRoutes(app).filter((route) => route.access === undefined);
  if (silent.length > 0)
    throw new Error(`Routes without @Access: ${silent.map((route) => route.operationId).join(', ')}.`);
  const unbounded = declaredRoutes(app).filter((route) => route.bound === undefined);
  if (unbounded.length > 0)
    throw new Error(`Routes without @Bounded: ${unbounded.map((route) => route.operationId).join(', ')}.`);
}

/**
 * Writes the scopes of each route into the OpenAPI document, so that the document cannot differ from the code. A caller
 * needs only one of a route's scopes.
 */
export function documentAccess(app: INestApplication, document: OpenAPIObject): void {
  const access = new Map(declaredRoutes(app).map((route) => [route.operationId, route.access]));
  for (const path of Object.values(document.paths))
    for (const operation of Object.values(path) as { operationId?: string; security?: object[] }[]) {
      const rule = access.get(operation.operationId ?? '');
      if (rule === undefined) continue;
      if (rule === 'public') operation.security = [];
      else operation.security = rule === 'client' ? [{ client: [] }] : rule.map((scope) => ({ oauth2: [scope] }));
    }
}
