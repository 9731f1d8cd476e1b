import type { Request } from 'express';

interface RouteLayer {
  route?: { path: string; methods: Record<string, boolean> };
  match(path: string): boolean;
}

/** Returns the methods of the request's path, for `Allow`; empty when no route matches. */
export function allowedMethods(request: Request): string[] {
  const { stack } = (request.app as unknown as { router: { stack: RouteLayer[] } }).router;
  const methods = new Set<string>();
  // Below a path prefix, Express removes the prefix from `path`.
  const path = request.baseUrl + request.path;
  for (const layer of stack) {
    if (!layer.route || !layer.match(path)) continue;
    for (const method of Object.keys(layer.route.methods)) methods.add(method.toUpperCase());
  }
  if (methods.has('GET')) methods.add('HEAD');
  return [...methods].sort();
}
