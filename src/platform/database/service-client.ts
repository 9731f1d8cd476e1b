import pg, { type ClientConfig } from 'pg';
import { batchSecured } from './batching-socket.js';
import { withSpans } from './statement-spans.js';
import { READ_ONLY, readOnlyServer, serversOf, type DatabaseServer } from './database-servers.js';
import { sessionSettings } from './session-settings.js';

/** The SQLSTATE codes disk_full and io_error, which mean that the server cannot write. */
const CANNOT_WRITE: ReadonlySet<string> = new Set(['53100', '58030']);

/** The settings of a {@link ServiceClient} in addition to the settings of `pg`. */
export interface ServiceClientConfig extends ClientConfig {
  readonly connectionString: string;
  /**
   * Whether this connection itself creates the tracing spans of its statements. The value is true for connections
   * outside the pools.
   */
  readonly traced?: boolean;
  /** Settings of PostgreSQL, such as `statement_timeout`, with their values. */
  readonly settings?: Readonly<Record<string, string>>;
}

/**
 * A connection to the database, used by the pools, TypeORM, the listener and migrations. It connects to the server that
 * database-servers.ts has chosen. Its only start-up parameters are the user and the database, because poolers refuse
 * other parameters. One round trip after connecting sets up the session (session-settings.ts) and, where required,
 * checks that the server is writable.
 */
export class ServiceClient extends pg.Client {
  private readonly servers: ReturnType<typeof serversOf>;
  private server: DatabaseServer;
  private readonly settings: Readonly<Record<string, string>>;
  /**
   * Whether the server was read-only when the session began. The server may have become writable since then, so the
   * connection is closed rather than reused (database.ts).
   */
  isReadOnly = false;

  constructor({ settings, traced = false, connectionString, ...config }: ServiceClientConfig) {
    const servers = serversOf(connectionString);
    const server = servers.current;
    const { user, password, database } = servers.address;
    super({ ...config, ...server, user, password, database });
    if (traced) withSpans(this);
    this.servers = servers;
    this.server = server;
    // This listener sees the errors of all statements, and notes when the server cannot write.
    const { connection } = this as unknown as { connection: pg.Connection };
    connection.on('errorMessage', ({ code }: { code?: string }) => {
      if (code !== undefined && CANNOT_WRITE.has(code)) servers.writesFail = true;
    });
    this.settings = { ...settings, ...servers.address.settings };
  }

  override connect(): Promise<pg.Client>;
  override connect(callback: ((error: Error) => void) | ((error: null, client: pg.Client) => void)): void;
  override connect(
    callback?: ((error: Error) => void) | ((error: null, client: pg.Client) => void),
  ): Promise<pg.Client> | void {
    const opened = this.open();
    if (!callback) return opened;
    // The callback runs on the next tick, so that an exception in the callback does not reject the promise.
    const respond = (error: unknown) => process.nextTick(callback, error);
    opened.then(() => respond(null), respond);
  }

  private async open(): Promise<pg.Client> {
    // If a connection to the database fails while it is being opened, only the promise of `connect` reports the error.
    const ignore = () => undefined;
    this.on('error', ignore);
    try {
      this.aim(await this.servers.find());
      await super.connect();
      await this.settle();
    } catch (error) {
      this.servers.lost(this.server);
      super.end().catch(ignore);
      throw error;
    }
    this.off('error', ignore);
    return this;
  }

  /**
   * Sets the host and port of the connection; the server may have been unknown when the client was created. The types
   * of `pg` lack the members that are set here.
   */
  private aim(server: DatabaseServer): void {
    const { connection } = this as unknown as { connection: pg.Connection & { ssl: unknown } };
    const { host, port, ssl } = (this.server = server);
    Object.assign(this, { host, port, ssl });
    connection.ssl = ssl;
    // TLS replaces the socket before any data is sent, so writes must be batched on the TLS stream.
    const { stream } = connection;
    connection.once('sslconnect', () => batchSecured(stream, connection.stream));
  }

  private async settle(): Promise<void> {
    const { readWriteOnly } = this.servers.address;
    const { rows } = await this.query<{ read_only: boolean }>(
      `SELECT ${[`${READ_ONLY} AS read_only`, ...sessionSettings(this.settings)].join(', ')}`,
    );
    this.isReadOnly = rows[0].read_only;
    if (this.isReadOnly && readWriteOnly) throw readOnlyServer();
  }
}

/** Opens a connection to the database, outside the pools. Close it after use. */
export async function connectTo(connectionString: string, config: ClientConfig = {}): Promise<pg.Client> {
  const client = new ServiceClient({ connectionTimeoutMillis: 10_000, ...config, connectionString });
  await client.connect();
  return client;
}
