import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { timeLimit } from '../time-limit.js';

const LOOK_MS = 500;
/** Nothing has come for so long although something was asked. */
const SILENCE_MS = 2_000;
/** Time for PostgreSQL to answer a greeting. */
const GREETING_MS = 2_000;
/** SSLRequest (PostgreSQL's protocol, §55.7): answered with one byte before anybody has signed in. */
const GREETING = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/**
 * A server that accepts and does not answer would hold each statement for its whole time limit, and all callers behind it.
 *
 * 1. Every connection tells when something is sent and when something comes.
 * 2. When nothing at all comes for a while after something was sent, the server is greeted over a connection of its own:
 *    statements may wait for a lock, a greeting waits for nobody.
 * 3. No answer: every connection is cut, so that what waits is refused, and new ones are refused at once.
 * 4. Greetings go on until one is answered; from then on connections are made again.
 */
export class SilentServer {
  private readonly sockets = new Set<Socket>();
  private sentAt = 0;
  private receivedAt = performance.now();
  private away = false;
  private greeting = false;
  private timer: NodeJS.Timeout | null = null;

  constructor(private readonly target: unknown[]) {}

  /** Joins a socket that is about to connect. */
  join(socket: Socket): void {
    if (this.away) {
      process.nextTick(() => socket.destroy(silent()));
      return;
    }
    this.sockets.add(socket);
    this.sent();
    this.hears(socket);
    socket.once('close', () => this.sockets.delete(socket));
    this.timer ??= setInterval(() => this.look(), LOOK_MS).unref();
  }

  hears(stream: Duplex): void {
    stream.on('data', () => (this.receivedAt = performance.now()));
  }

  sent(): void {
    // The first of what is not answered yet.
    if (this.sentAt <= this.receivedAt) this.sentAt = performance.now();
  }

  get isAway(): boolean {
    return this.away;
  }

  private look(): void {
    const waiting = this.sentAt > this.receivedAt && performance.now() - this.sentAt >= SILENCE_MS;
    if (this.away || (waiting && this.sockets.size > 0)) void this.greet();
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
      this.away = false;
      // Waiting calls have a reason; the next look comes after the next silence.
      this.sentAt = this.receivedAt;
      return;
    }
    this.away = true;
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

/** The server that a socket connects to, by the arguments of `connect`. */
export function serverAt(target: unknown[]): SilentServer {
  const key = JSON.stringify(target);
  let server = servers.get(key);
  if (!server) servers.set(key, (server = new SilentServer(target)));
  return server;
}
