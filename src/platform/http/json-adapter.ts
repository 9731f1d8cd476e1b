import { createServer, IncomingMessage, ServerResponse, type RequestListener } from 'node:http';
import { StreamableFile, type NestApplicationOptions } from '@nestjs/common';
import { ExpressAdapter } from '@nestjs/platform-express';
import type { Response } from 'express';
import { answered } from '../overload/read-share.js';

/** An adapter for Express that handles requests and JSON responses with less work than Nest's own adapter. */
export class JsonAdapter extends ExpressAdapter {
  /**
   * Creates requests and responses with Express's prototypes from the start, which saves about a third of a request's
   * time. Otherwise, Express would replace the prototype of each object, and thereby make the object slow in V8.
   */
  override initHttpServer(options: NestApplicationOptions): void {
    const { httpsOptions, forceCloseConnections, return503OnClosing } = options;
    if (httpsOptions || forceCloseConnections || return503OnClosing)
      throw new Error(
        'This adapter creates its own server, which supports neither TLS nor an option for closing connections.',
      );
    const app = this.getInstance<RequestListener & { request: object; response: object }>();
    const served = {
      // The interval at which Node looks for connections whose headers are late. The default is 30 s.
      connectionsCheckingInterval: 5_000,
      // Node's own check of the `Host` header is off, because unambiguous.ts refuses a request without this header, and
      // responds with a problem document.
      requireHostHeader: false,
      IncomingMessage: bornWith(IncomingMessage, app.request),
      ServerResponse: bornWith(ServerResponse, app.response),
    };
    app.request = served.IncomingMessage.prototype;
    app.response = served.ServerResponse.prototype;
    this.setHttpServer(createServer(served, app));
  }

  /**
   * Sends the head and the body of a response as one string. Express would create a separate Buffer for the body, and
   * would also handle ETag, charset and freshness, which these responses never have.
   */
  override reply(response: Response, body: unknown, statusCode?: number): unknown {
    if (typeof body !== 'object' || body === null || body instanceof StreamableFile || Buffer.isBuffer(body))
      return super.reply(response, body, statusCode);
    if (statusCode !== undefined) response.statusCode = statusCode;
    const text = JSON.stringify(body);
    if (!response.hasHeader('Content-Type')) response.setHeader('Content-Type', 'application/json; charset=utf-8');
    response.setHeader('Content-Length', Buffer.byteLength(text));
    response.end(text);
    answered(response);
    return response;
  }
}

/**
 * Returns a class derived from `Base` whose instances also inherit from `prototype`. A class is needed, because V8
 * gives the instances of a derived class a common shape. With `Reflect.construct` and a different `newTarget`, each
 * object would have its own shape.
 */
function bornWith<Class extends new (...parameters: never[]) => object>(Base: Class, prototype: object): Class {
  const Born = class extends (Base as unknown as new () => object) {};
  Object.setPrototypeOf(Born.prototype, prototype);
  return Born as unknown as Class;
}
