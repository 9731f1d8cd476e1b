import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { serverAt, type SilentServer } from './silent-server.js';

/**
 * A connection to PostgreSQL on which everything that is written in one turn of the event loop leaves together: statements
 * that do not wait for one another's answers cost one system call, for this process and for PostgreSQL. One whose server
 * has fallen silent is cut (silent-server.ts).
 */
export function batchingSocket(): Socket {
  const socket = new Socket();
  const connect = socket.connect.bind(socket) as (...target: unknown[]) => Socket;
  socket.connect = (...target: unknown[]) => {
    const server = serverAt(target);
    server.join(socket);
    servers.set(socket, server);
    if (server.isAway) return socket;
    // `connect` of a socket puts `write` back to what it was made with.
    socket.once('connect', () => batchWrites(socket, server));
    return connect(...target);
  };
  return socket;
}

const servers = new WeakMap<object, SilentServer>();

/** The same for the stream of TLS that has taken the place of such a socket: nothing is read from or written to that any more. */
export function batchSecured(socket: object, secured: Duplex): void {
  const server = servers.get(socket);
  if (!server) return;
  server.hears(secured);
  batchWrites(secured, server);
}

function batchWrites(socket: Duplex, server: SilentServer): void {
  let waiting = false;
  const write = socket.write.bind(socket) as (...chunk: unknown[]) => boolean;
  socket.write = (...chunk: unknown[]) => {
    if (!waiting) {
      waiting = true;
      server.sent();
      socket.cork();
      process.nextTick(() => {
        waiting = false;
        socket.uncork();
      });
    }
    return write(...chunk);
  };
}
