import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { timeLimit } from '../time-limit.js';

const CHECK_MS = 500;
/** The time, in milliseconds, after which the server counts as silent if no data arrives in response to a request. */
const SILENCE_MS = 2_000;
/** The time limit, in milliseconds, for PostgreSQL to respond to a probe. */
const GREETING_MS = 2_000;
/** The probe: an SSLRequest (PostgreSQL documentation, §55.7). The server responds with one byte, before any login. */
const GREETING = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/**
 * Detects a database server that accepts connections but does not respond. Without this detection, each statement on
 * such a server, and every caller that waits for the statement, would be blocked until the statement's time limit.
 *
 * 1. Every connection reports when data is sent and received.
 * 2. When no data at all arrives for a while after a request, a probe is sent on a separate connection. A statement may
 *    wait for a lock, but a probe waits for nothing.
 * 3. If the server does not respond to the probe, every connection is closed. Waiting statements and new statements
 *    then fail immediately.
 * 4. Further probes are sent until the server responds to one of them. After that, connections are opened again.
 */
export class SilentServer {
  private readonly sockets = new Set<Socket>();
  private sentAt = 0;
  private receivedAt = performance.now();
  private isSilent = false;
  private greeting = false;
  private timer: NodeJS.Timeout | null = null;

  constructor(private readonly target: unknown[]) {}

  /** Registers a socket that is about to connect to the database server. */
  join(socket: Socket): void {
    if (this.isSilent) {
      process.nextTick(() => socket.destroy(silent()));
      return;
    }
    this.sockets.add(socket);
    this.sent();
    this.hears(socket);
    socket.once('close', () => this.sockets.delete(socket));
    this.timer ??= setInterval(() => this.check(), CHECK_MS).unref();
  }

  hears(stream: Duplex): void {
    stream.on('data', () => (this.receivedAt = performance.now()));
  }

  sent(): void {
    // `sentAt` is the time of the first request that was sent after the latest data arrived.
    if (this.sentAt <= this.receivedAt) this.sentAt = performance.now();
  }

  get isAway(): boolean {
    return this.isSilent;
  }

  private check(): void {
    const waiting = this.sentAt > this.receivedAt && performance.now() - this.sentAt >= SILENCE_MS;
    if (this.isSilent || (waiting && this.sockets.size > 0)) void this.greet();
    else if (this.sockets.size === 0 && this.timer) {
      clearInterval(this.timer);
      this.timer = null;
    }
  }

  private async greet(): Promise<void> {
    if (this.greeting) return;
    this.greeting = true;
    const answered = await isGreeted(this.target);
    this.greeting = false;
    if (answered) {
      this.isSilent = false;
      // The server has responded to the probe, so the requests are waiting for something else, such as a lock. The next
      // probe follows after another period of silence.
      this.sentAt = this.receivedAt;
      return;
    }
    this.isSilent = true;
    for (const socket of this.sockets) socket.destroy(silent());
  }
}

function silent(): Error {
  return Object.assign(new Error('The database does not answer.'), { code: 'ETIMEDOUT' });
}

function isGreeted(target: unknown[]): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = new Socket();
    const end = (answered: boolean): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answered);
    };
    const timer = timeLimit(GREETING_MS, () => end(false));
    socket.once('data', () => end(true));
    socket.on('error', () => end(false)).on('close', () => end(false));
    socket.once('connect', () => socket.write(GREETING));
    (socket.connect as (...target: unknown[]) => void)(...target);
  });
}

const servers = new Map<string, SilentServer>();

/**
 * Returns the state of the server to which a socket connects.
 * @param target the arguments of the socket's `connect`
 */
export function serverAt(target: unknown[]): SilentServer {
  const key = JSON.stringify(target);
  let server = servers.get(key);
  if (!server) servers.set(key, (server = new SilentServer(target)));
  return server;
}
