import { Socket } from 'node:net';
import { serverAt } from './silent-server.js';

/**
 * A connection to PostgreSQL on which everything that is written in one turn of the event loop leaves together: statements
 * that do not wait for one another's answers cost one system call, for this process and for PostgreSQL. One whose server
 * has fallen silent is cut (silent-server.ts).
 */
export function batchingSocket(): Socket {
  const socket = new Socket();
  const connect = socket.connect.bind(socket) as (...target: unknown[]) => Socket;
  let waiting = false;
  socket.connect = (...target: unknown[]) => {
    const server = serverAt(target);
    server.join(socket);
    if (server.isAway) return socket;
    // `connect` of a socket puts `write` back to what it was made with.
    socket.once('connect', () => {
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
    });
    return connect(...target);
  };
  return socket;
}
