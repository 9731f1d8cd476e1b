import { Socket } from 'node:net';

/**
 * A connection to PostgreSQL on which everything that is written in one turn of the event loop leaves together: statements
 * that do not wait for one another's answers cost one system call, for this process and for PostgreSQL.
 */
export function batchingSocket(): Socket {
  const socket = new Socket();
  let waiting = false;
  // `connect` of a socket puts `write` back to what it was made with.
  socket.once('connect', () => {
    const write = socket.write.bind(socket) as (...chunk: unknown[]) => boolean;
    socket.write = (...chunk: unknown[]) => {
      if (!waiting) {
        waiting = true;
        socket.cork();
        process.nextTick(() => {
          waiting = false;
          socket.uncork();
        });
      }
      return write(...chunk);
    };
  });
  return socket;
}
