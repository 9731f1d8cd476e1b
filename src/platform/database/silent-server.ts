import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { timeLimit } from '../time-limit.js';

const CHECK_MS = 500;
/** The time without any data after a request, after which the server counts as silent. */
const SILENCE_MS = 2_000;
/** The time limit for PostgreSQL to answer a probe. */
const GREETING_MS = 2_000;
/** The probe: an SSLRequest (PostgreSQL's protocol, §55.7), which the server answers with one byte before the login. */
const GREETING = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/**
 * Detects a server that accepts connections but does not answer. Such a server would hold each statement, and all
 * callers behind it, for the whole time limit.
 *
 * 1. Every connection reports when data is sent and received.
 * 2. When no data at all arrives for a while after a request, a separate connection probes the server. A statement may
 *    wait for a lock, but a probe waits for nothing.
 * 3. Without an answer to the probe, every connection is closed: waiting calls and new calls are refused immediately.
 * 4. Probes are repeated until one is answered; then connections are opened again.
 */
export class SilentServer {
  private readonly sockets = new Set<Socket>();
  private sentAt = 0;
  private receivedAt = performance.now();
  private isSilent = false;
  private greeting = false;
  private timer: NodeJS.Timeout | null = null;

  constructor(private readonly target: unknown[]) {}

  /** Registers a socket that is about to connect. */
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
    // The time of the first request to which no data has arrived.
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
      // The server answers, so that the requests wait for another reason, such as a lock. The next probe follows the
      // next period of silence.
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
 * Returns the server to which a socket connects.
 * @param target the arguments of `connect`
 */
export function serverAt(target: unknown[]): SilentServer {
  const key = JSON.stringify(target);
  let server = servers.get(key);
  if (!server) servers.set(key, (server = new SilentServer(target)));
  return server;
}
