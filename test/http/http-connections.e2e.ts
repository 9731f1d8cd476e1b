import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { startApp, type TestApp } from '../support/app';
import { eventually } from '../support/eventually';

const MOST_OF_AN_ADDRESS = 1024;
const AT_A_TIME = 100;

const portOf = (app: TestApp) => Number(new URL(app.url).port);

async function open(app: TestApp): Promise<Socket> {
  const socket = connect(portOf(app), '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

/** Sends a request on the connection; returns the response, or null when the service has closed the connection. */
function ask(socket: Socket): Promise<string | null> {
  return new Promise((resolve) => {
    socket.once('data', (bytes) => resolve(bytes.toString()));
    socket.once('close', () => resolve(null));
    socket.write('GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n');
  });
}

/**
 * Opens the given number of connections, or fewer if the service accepts no more. Sends a request on each connection
 * and waits for the response.
 */
async function fill(app: TestApp, count: number): Promise<Socket[]> {
  const sockets: Socket[] = [];
  while (sockets.length < count) {
    const some = await Promise.all(
      Array.from({ length: Math.min(AT_A_TIME, count - sockets.length) }, () => open(app)),
    );
    const answers = await Promise.all(some.map(ask));
    sockets.push(...some.filter((_, at) => answers[at] !== null));
    if (answers.includes(null)) break;
  }
  return sockets;
}

it('limits the number of connections from one address, and accepts a new connection when another one closes', async () => {
  const app = await startApp();
  const sockets = await fill(app, MOST_OF_AN_ADDRESS + AT_A_TIME);
  try {
    expect(sockets).toHaveLength(MOST_OF_AN_ADDRESS);
    expect(await ask(await open(app))).toBeNull();
    sockets.pop()!.destroy();
    await eventually(async () => {
      const socket = await open(app);
      sockets.push(socket);
      expect(await ask(socket)).toMatch(/^HTTP\/1\.1 200 /);
    });
  } finally {
    for (const socket of sockets) socket.destroy();
    await app.close();
  }
});

it('does not limit the number of connections from a trusted proxy, even though they all come from one address', async () => {
  const app = await startApp({ env: { TRUST_PROXY: '1' } });
  const sockets = await fill(app, MOST_OF_AN_ADDRESS + 1);
  try {
    expect(sockets).toHaveLength(MOST_OF_AN_ADDRESS + 1);
  } finally {
    for (const socket of sockets) socket.destroy();
    await app.close();
  }
});

it('keeps idle HTTP connections open longer than proxies do, and closes them at shutdown without delay', async () => {
  const app = await startApp();
  const socket = await open(app);
  try {
    expect(await ask(socket)).toMatch(/^HTTP\/1\.1 200 [^]*\r\nKeep-Alive: timeout=75\r\n/);
    // By default, Node.js closes an idle connection after five or six seconds.
    await pause(7_000);
    expect(await ask(socket)).toMatch(/^HTTP\/1\.1 200 /);
  } finally {
    const begun = performance.now();
    await app.close();
    expect(performance.now() - begun).toBeLessThan(5_000);
  }
  expect(socket.closed || socket.readableEnded).toBe(true);
}, 30_000);
