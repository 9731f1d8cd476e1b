import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { serverAt, type SilentServer } from './silent-server.js';

/**
 * Creates a socket to PostgreSQL that collects all writes of one turn of the event loop and sends them together.
 * Several statements then cost one system call on each side. The socket is closed when the server stops responding
 * (silent-server.ts).
 */
export function batchingSocket(): Socket {
  const socket = new Socket();
  const connect = socket.connect.bind(socket) as (...target: unknown[]) => Socket;
  socket.connect = (...target: unknown[]) => {
    const server = serverAt(target);
    server.join(socket);
    servers.set(socket, server);
    if (server.isAway) return socket;
    // The writes are batched only from `connect` on, because Node restores the socket's original `write` when it
    // connects.
    socket.once('connect', () => batchWrites(socket, server));
    return connect(...target);
  };
  return socket;
}

const servers = new WeakMap<object, SilentServer>();

/**
 * Batches the writes of a TLS stream. With TLS, the driver reads and writes this stream instead of the socket of
 * {@link batchingSocket}.
 */
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
