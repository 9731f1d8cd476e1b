import { IncomingMessage, ServerResponse, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInThisContext } from 'node:vm';
import type { NextFunction, Request, Response } from 'express';
import { JsonAdapter } from './json-adapter';

describe('the HTTP adapter', () => {
  it('request and response objects already have the prototypes of Express when the HTTP adapter creates them', async () => {
    const adapter = new JsonAdapter();
    adapter.initHttpServer({});
    const server: Server = adapter.getHttpServer();
    const app = adapter.getInstance<{ request: object; response: object }>();
    const born: boolean[] = [];
    server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
      born.push(Object.getPrototypeOf(request) === app.request, Object.getPrototypeOf(response) === app.response);
      born.push(request instanceof IncomingMessage, response instanceof ServerResponse);
    });
    adapter.use((request: Request, response: Response, _next: NextFunction) => {
      born.push(Object.getPrototypeOf(request) === app.request, Object.getPrototypeOf(response) === app.response);
      adapter.reply(response, { path: request.path }, 201);
    });
    const warnings: unknown[] = [];
    const record = (warning: unknown) => warnings.push(warning);
    process.on('warning', record);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/somewhere`);
    expect([answer.status, await answer.json()]).toEqual([201, { path: '/somewhere' }]);
    expect(born).toEqual([true, true, true, true, true, true]);
    await new Promise((resolve) => server.close(resolve));
    process.off('warning', record);
    expect(warnings).toEqual([]);
  });

  // If the request objects had different shapes in V8, code that reads them would be slow: a request would take twice
  // as long.
  it('all request objects share one hidden class of V8 with fast properties, and all response objects share another', async () => {
    setFlagsFromString('--allow-natives-syntax');
    const haveOneShape = runInThisContext('(one, other) => %HaveSameMap(one, other)') as (...of: object[]) => boolean;
    const isFast = runInThisContext('(one) => %HasFastProperties(one)') as (one: object) => boolean;
    const adapter = new JsonAdapter();
    adapter.initHttpServer({});
    const server: Server = adapter.getHttpServer();
    const seen: object[][] = [];
    adapter.use((request: Request, response: Response, _next: NextFunction) => {
      seen.push([request, response]);
      adapter.reply(response, {});
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    for (let call = 1; call <= 20; call++)
      await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`).then((answer) => answer.text());
    await new Promise((resolve) => server.close(resolve));
    // The first request objects are skipped, because V8 creates them before it has learned which members such objects
    // get.
    const [[request, response], ...others] = seen.slice(10);
    expect(others.map((other) => [haveOneShape(request, other[0]), haveOneShape(response, other[1])])).toEqual(
      others.map(() => [true, true]),
    );
    expect([isFast(request), isFast(response)]).toEqual([true, true]);
  });

  it.each([{ httpsOptions: {} }, { forceCloseConnections: true }, { return503OnClosing: true }])(
    'the HTTP adapter refuses the NestJS option %o, which its server would ignore',
    (options) => {
      expect(() => new JsonAdapter().initHttpServer(options)).toThrow('creates its own server');
    },
  );
});
