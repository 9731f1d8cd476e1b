import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/**
 * The start-up parameters that pgbouncer accepts. Any other parameter ends the connection, unless pgbouncer is
 * configured to ignore it.
 */
const PARAMETERS = new Set([
  'application_name',
  'client_encoding',
  'database',
  'datestyle',
  'standard_conforming_strings',
  'timezone',
  'user',
]);
const SSL_REQUEST = 80_877_103;
const READY_FOR_QUERY = 0x5a;
const ENDS_A_BATCH = new Set([0x51, 0x53]);
const TERMINATE = 0x58;

/** A connection of the pooler to PostgreSQL. It is authenticated as the client for which it was opened. */
interface Upstream {
  readonly socket: Socket;
  user: Session | null;
}

/**
 * Imitates pgbouncer in front of a real server. It does not support TLS, and refuses some start-up parameters by name.
 * In transaction mode, a client has a server process only during its transaction. The process that was used last is
 * assigned first.
 */
export class Pooler {
  readonly idle: Upstream[] = [];
  readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    readonly target: URL,
    readonly mode: 'session' | 'transaction',
  ) {}

  static async before(url: string, mode: 'session' | 'transaction'): Promise<Pooler> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const pooler = new Pooler(server, new URL(url), mode);
    server.on('connection', (client) => new Session(pooler, client));
    return pooler;
  }

  get url(): string {
    const url = new URL(this.target.href);
    url.port = String((this.server.address() as { port: number }).port);
    return url.href;
  }

  close(): void {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
  }
}

class Session {
  private upstream: Upstream | null = null;
  private readonly fromClient = new Messages(false);
  private signedIn = false;
  /** The number of batches of messages to which PostgreSQL has not responded yet. */
  private outstanding = 0;

  constructor(
    private readonly pooler: Pooler,
    private readonly client: Socket,
  ) {
    this.keep(client);
    client.on('data', (bytes: Buffer) => {
      for (const message of this.fromClient.read(bytes)) this.heard(message);
    });
    client.on('close', () => this.upstream?.socket.destroy());
  }

  private keep(socket: Socket): void {
    this.pooler.sockets.add(socket);
    socket.on('error', () => undefined);
  }

  private heard(message: Buffer): void {
    if (this.fromClient.headed) {
      if (message[0] === TERMINATE && this.pooler.mode === 'transaction') return;
      this.send(message);
    } else if (message.readInt32BE(4) === SSL_REQUEST) this.client.write('N');
    else this.start(message);
  }

  private start(message: Buffer): void {
    const words = message.subarray(8).toString().split('\0');
    const refused = words.filter((name, at) => at % 2 === 0 && name !== '' && !PARAMETERS.has(name.toLowerCase()))[0];
    if (refused !== undefined) {
      this.client.end(errorResponse(`unsupported startup parameter: ${refused}`));
      return;
    }
    this.fromClient.headed = true;
    this.upstream = { socket: connect(Number(this.pooler.target.port), this.pooler.target.hostname), user: this };
    this.attach(this.upstream);
    this.upstream.socket.write(message);
  }

  private attach(upstream: Upstream): void {
    const fromServer = new Messages(true);
    this.keep(upstream.socket);
    upstream.socket.on('data', (bytes: Buffer) => {
      for (const message of fromServer.read(bytes)) upstream.user?.answered(message);
    });
    upstream.socket.on('close', () => upstream.user?.client.destroy());
  }

  private send(message: Buffer): void {
    if (!this.signedIn || this.pooler.mode === 'session') {
      this.upstream!.socket.write(message);
      return;
    }
    if (this.upstream === null) {
      this.upstream = this.pooler.idle.pop() ?? null;
      if (this.upstream === null) {
        this.client.end(errorResponse('no more connections allowed'));
        return;
      }
      this.upstream.user = this;
    }
    if (ENDS_A_BATCH.has(message[0])) this.outstanding += 1;
    this.upstream.socket.write(message);
  }

  private answered(message: Buffer): void {
    this.client.write(message);
    if (message[0] !== READY_FOR_QUERY || this.pooler.mode === 'session') return;
    if (this.signedIn) this.outstanding -= 1;
    this.signedIn = true;
    if (this.outstanding > 0 || message[5] !== 'I'.charCodeAt(0)) return;
    const upstream = this.upstream!;
    this.upstream = null;
    upstream.user = null;
    this.pooler.idle.push(upstream);
  }
}

/** Splits a stream into messages. While `headed` is false, messages have no type byte before their length. */
class Messages {
  private rest: Buffer = Buffer.alloc(0);

  constructor(public headed: boolean) {}

  *read(bytes: Buffer): Generator<Buffer> {
    this.rest = Buffer.concat([this.rest, bytes]);
    for (;;) {
      const head = this.headed ? 1 : 0;
      if (this.rest.length < head + 4) return;
      const length = head + this.rest.readInt32BE(head);
      if (this.rest.length < length) return;
      const message = this.rest.subarray(0, length);
      this.rest = this.rest.subarray(length);
      yield message;
    }
  }
}

function errorResponse(text: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C08P01\0M${text}\0\0`);
  const head = Buffer.alloc(5);
  head.write('E');
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}
