/**
 * Reads every request to its end and answers a GET with the requested number of bytes, without any other work. An
 * attack on this server shows how much the attack slows the machine itself, without the service.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { endWithOrchestrator, programOptions, tell } from './program.js';

const { bytes } = programOptions<{ bytes: number }>();
const document = Buffer.alloc(bytes, 'x');

async function main(): Promise<void> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.end(request.method === 'GET' ? document : undefined));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  tell({ ready: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

void main();
endWithOrchestrator();
