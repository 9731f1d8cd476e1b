// The imported types must match those that NestJS uses, and NestJS imports axios as an ES module.
import type { AxiosAdapter } from 'axios' with { 'resolution-mode': 'import' };

import { type PartnerConnector } from './partner-connection.js';
import type { Answer } from './answer-reader.js';
import { type ConnectionKeeper, Exchange, PartnerConnection, type PartnerRequest } from './partner-exchange.js';

/**
 * The configuration of an axios request. It includes the pool of connections to use, and the deadline on the clock of
 * `performance.now()`.
 */
export interface PartnerRequestConfig {
  method: 'POST';
  /** The path and the query of the URL. The origin of the URL is the origin of the pool. */
  url: string;
  headers: Record<string, string>;
  data: string;
  partner: { pool: PartnerPool; deadline: number };
}

/**
 * Lets axios use the pools of connections. The `data` of the axios response is an `Answer` with any status. Rejects
 * with a `PartnerFault`.
 */
export const partnerAdapter: AxiosAdapter = async (config) => {
  const { partner, url, method, data } = config as unknown as PartnerRequestConfig;
  const headers = config.headers.toJSON() as Record<string, string>;
  const answer = await partner.pool.send(
    { method: method.toUpperCase(), path: url, headers, body: data },
    partner.deadline,
  );
  return { data: answer, status: answer.status, statusText: '', headers: {}, config };
};

/**
 * The maximum number of idle connections to all partners of a process. Each connection occupies about 80 KiB. A maximum
 * below the number of partners could close each connection before it is used again.
 */
const MOST_IDLE = 2000;

/** The idle connections of all pools. If there are too many, the connection that has been idle longest is closed. */
export class IdleConnections {
  private readonly pools = new Map<PartnerConnection, PartnerPool>();

  constructor(private readonly most = MOST_IDLE) {}

  add(connection: PartnerConnection, pool: PartnerPool): void {
    this.pools.set(connection, pool);
    if (this.pools.size <= this.most) return;
    const [[longest, its]] = this.pools;
    its.endIdle(longest);
  }

  delete(connection: PartnerConnection): void {
    this.pools.delete(connection);
  }
}

/**
 * Pools the keep-alive connections to one origin. Exchanges wait for a connection in this pool until their own
 * deadlines, so a cancelled exchange leaves nothing behind. In contrast, undici's own pool would keep the exchange, and
 * its half-open connections, until they end.
 */
export class PartnerPool implements ConnectionKeeper {
  private readonly idle: PartnerConnection[] = [];
  private readonly connections = new Set<PartnerConnection>();
  private readonly waiting: Exchange[] = [];
  /**
   * The connection that was idle for a long time and now carries a request. It is not yet known whether the connection
   * was silently dropped.
   */
  private onTrial: PartnerConnection | null = null;
  private closed = false;
  private inFlight = 0;
  private drained: (() => void) | null = null;

  constructor(
    private readonly origin: string,
    private readonly connector: PartnerConnector,
    private readonly size: number,
    private readonly limitMs: number,
    private readonly allIdle: IdleConnections,
  ) {}

  get busy(): boolean {
    return this.inFlight > 0;
  }

  /** Sends a request. Rejects with a `PartnerFault` if no usable status arrives. */
  send(request: PartnerRequest, deadline: number): Promise<Answer> {
    this.inFlight += 1;
    return new Promise<Answer>((resolve, reject) => {
      const ended = () => {
        this.inFlight -= 1;
        if (this.inFlight === 0) this.drained?.();
      };
      const exchange = new Exchange(
        this,
        request,
        deadline,
        (answer) => {
          ended();
          resolve(answer);
        },
        (fault) => {
          ended();
          reject(fault);
        },
      );
      this.start(exchange);
    });
  }

  /** Waits for the running exchanges, which have their own deadlines, and then closes all connections. */
  async close(): Promise<void> {
    this.closed = true;
    if (this.busy) await new Promise<void>((resolve) => (this.drained = resolve));
    // At this point, none of the pool's exchanges is running. An attempt that still waits for a token opens its own
    // connection later.
    this.idle.length = 0;
    for (const connection of this.connections) this.drop(connection);
  }

  release(connection: PartnerConnection): void {
    this.endTrial(connection);
    if (connection.isOld) return this.discard(connection);
    const next = this.nextWaiting();
    if (next) connection.carry(next);
    else if (this.closed) this.drop(connection);
    else {
      this.idle.push(connection);
      this.allIdle.add(connection, this);
    }
  }

  /** Closes an idle connection. */
  endIdle(connection: PartnerConnection): void {
    this.idle.splice(this.idle.indexOf(connection), 1);
    this.drop(connection);
  }

  discard(connection: PartnerConnection): void {
    this.drop(connection);
    const next = this.nextWaiting();
    if (next) this.start(next);
  }

  doubt(): void {
    for (const connection of this.idle.splice(0)) this.drop(connection);
  }

  renew(exchange: Exchange, dead: PartnerConnection): void {
    this.drop(dead);
    this.connect().carry(exchange);
  }

  private start(exchange: Exchange): void {
    const connection = this.takeIdle() ?? (this.connections.size < this.size ? this.connect() : undefined);
    if (connection) connection.carry(exchange);
    else this.waiting.push(exchange);
  }

  /**
   * Returns an idle connection. Only one connection at a time is tried after it was idle for a long time, because a
   * cause that drops one connection usually drops all.
   */
  private takeIdle(): PartnerConnection | undefined {
    let connection = this.idle.pop();
    while (connection?.isOld || (connection?.isQuiet && this.onTrial !== null)) {
      this.drop(connection);
      connection = this.idle.pop();
    }
    if (connection?.isQuiet) this.onTrial = connection;
    if (connection) this.allIdle.delete(connection);
    return connection;
  }

  private endTrial(connection: PartnerConnection): void {
    if (this.onTrial === connection) this.onTrial = null;
  }

  private connect(): PartnerConnection {
    const connection = new PartnerConnection(this.origin, this.connector, this.limitMs);
    this.connections.add(connection);
    return connection;
  }

  private drop(connection: PartnerConnection): void {
    this.endTrial(connection);
    this.connections.delete(connection);
    this.allIdle.delete(connection);
    connection.close();
  }

  private nextWaiting(): Exchange | undefined {
    let next = this.waiting.shift();
    while (next?.settled) next = this.waiting.shift();
    return next;
  }
}
