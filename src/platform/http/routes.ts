import type { Request } from 'express';

interface RouteLayer {
  route?: { path: string; methods: Record<string, boolean> };
  match(path: string): boolean;
}

/**
 * Returns the HTTP methods that are allowed for the path of the request, for the `Allow` header; empty if no route
 * matches.
 */
export function allowedMethods(request: Request): string[] {
  const { stack } = (request.app as unknown as { router: { stack: RouteLayer[] } }).router;
  const methods = new Set<string>();
  // `baseUrl` is put before `path`, because Express removes the prefix of a mounted router from `path`.
  const path = request.baseUrl + request.path;
  for (const layer of stack) {
    if (!layer.route || !layer.match(path)) continue;
    for (const method of Object.keys(layer.route.methods)) methods.add(method.toUpperCase());
  }
  if (methods.has('GET')) methods.add('HEAD');
  return [...methods].sort();
}
