import { once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Request, Response } from 'express';
import { readBytes } from './body-arrival.js';

it('does not wait for the body of a client that has already disconnected', async () => {
  const request = new IncomingMessage(new Socket());
  request.headers['content-length'] = '100';
  request.destroy();
  await once(request, 'close');
  const arrival = readBytes(request as Request, new ServerResponse(request) as Response, { limit: 100 });
  await expect(arrival).rejects.toMatchObject({ code: 'malformed_request' });
});
