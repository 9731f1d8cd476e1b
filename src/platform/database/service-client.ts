import pg, { type ClientConfig } from 'pg';
import { batchSecured } from './batching-socket.js';
import { withSpans } from './statement-spans.js';
import { READ_ONLY, readOnlyServer, serversOf, type DatabaseServer } from './database-servers.js';
import { sessionSettings } from './session-settings.js';

/** disk_full and io_error. */
const CANNOT_WRITE: ReadonlySet<string> = new Set(['53100', '58030']);

/** How a connection of {@link ServiceClient} behaves beside what `pg` knows. */
export interface ServiceClientConfig extends ClientConfig {
  readonly connectionString: string;
  /** Its statements are those of whoever asks, and not of a pool that has spans itself. */
  readonly traced?: boolean;
  /** Settings of PostgreSQL (`statement_timeout`) and their values. */
  readonly settings?: Readonly<Record<string, string>>;
}

/**
 * A connection to the database, whoever makes it: pools, TypeORM, the listener, a migration. It goes to the server of
 * `DATABASE_URL` that is in use (database-servers.ts), and brings nothing but who it is: poolers refuse other start-up
 * parameters. Settings (session-settings.ts) are set once it is there, in one round trip for each new connection; that asks as
 * well whether the server can be written to, where that matters.
 */
export class ServiceClient extends pg.Client {
  private readonly servers: ReturnType<typeof serversOf>;
  private server: DatabaseServer;
  private readonly settings: Readonly<Record<string, string>>;
  /** The server was read-only when the session began, and may be writable since: it is not kept (database.ts). */
  isReadOnly = false;

  constructor({ settings, traced = false, connectionString, ...config }: ServiceClientConfig) {
    const servers = serversOf(connectionString);
    const server = servers.current;
    const { user, password, database } = servers.address;
    super({ ...config, ...server, user, password, database });
    if (traced) withSpans(this);
    this.servers = servers;
    this.server = server;
    // Of all statements of the process, whoever sends them.
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
    // Not within the promise: what the callback throws is no rejection of it.
    const told = (error: unknown) => process.nextTick(callback, error);
    opened.then(() => told(null), told);
  }

  private async open(): Promise<pg.Client> {
    // Only the promise reports a connection that ends before it was handed out.
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

  /** Which server it is may be known only now. @types/pg does not know the members. */
  private aim(server: DatabaseServer): void {
    const { connection } = this as unknown as { connection: pg.Connection & { ssl: unknown } };
    const { host, port, ssl } = (this.server = server);
    Object.assign(this, { host, port, ssl });
    connection.ssl = ssl;
    // TLS takes the socket's place before anything is sent.
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

/** A connection of its own to the database; whoever asks for it ends it. */
export async function connectTo(connectionString: string, config: ClientConfig = {}): Promise<pg.Client> {
  const client = new ServiceClient({ connectionTimeoutMillis: 10_000, ...config, connectionString });
  await client.connect();
  return client;
}
