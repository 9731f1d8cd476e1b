import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import { listenerConfig } from './connections.js';
import { ServiceClient } from './service-client.js';

const CONNECT_AGAIN_MS = 1_000;
/**
 * The interval, in milliseconds, at which the listener polls its server. The polls keep firewalls and poolers from
 * silently dropping the connection, and detect a connection that was dropped.
 */
const ASK_MS = 5_000;
/**
 * The time limit for closing a connection, in milliseconds. A server that is unavailable does not respond to the
 * message that closes a connection.
 */
const FAREWELL_MS = 1_000;

export interface ListenerEvents {
  /** Called with each message that arrives on the listener's channel. */
  notified(payload: string, client: pg.Client): void;
  /** Called when LISTEN has taken effect. From then on, every message arrives; earlier messages may have been lost. */
  listening?(client: pg.Client): Promise<void>;
  /** Called when the server has responded to a poll. The callback can then look for changes whose message was lost. */
  asked?(client: pg.Client): void;
  /** Called when the LISTEN connection has failed; the listener then reconnects. */
  failed(error: unknown): void;
}

/**
 * Receives the messages of a channel (NOTIFY) on its own connection. A connection that only listens does not notice
 * that its server has become unavailable. The listener therefore polls the server, and reconnects if the server does
 * not respond.
 */
export class Listener {
  private client: pg.Client | null = null;
  private timer: NodeJS.Timeout | null = null;
  private closed = false;

  constructor(
    private readonly url: string,
    private readonly channel: string,
    private readonly events: ListenerEvents,
  ) {}

  /** Opens the LISTEN connection. Resolves when the listener is connected, or when it has scheduled a retry. */
  async open(): Promise<void> {
    const client = new ServiceClient(listenerConfig(this.url));
    this.client = client;
    client.on('error', () => this.lose(client));
    client.on('end', () => this.lose(client));
    client.on('notification', ({ payload }) => this.events.notified(payload ?? '', client));
    try {
      await client.connect();
      await client.query(`LISTEN ${this.channel}`);
      await this.events.listening?.(client);
      this.askLater(client);
    } catch (error) {
      if (this.closed) return;
      this.events.failed(error);
      this.lose(client);
    }
  }

  /** Calls the `asked` callback immediately, as after a poll, in case a message was lost. */
  ask(): void {
    if (this.client) this.events.asked?.(this.client);
  }

  /** Reconnects after the given connection has failed. */
  lose(lost: pg.Client): void {
    if (this.closed || this.client !== lost) return;
    this.client = null;
    void lost.end().catch(() => undefined);
    this.later(CONNECT_AGAIN_MS, () => this.open());
  }

  async close(): Promise<void> {
    this.closed = true;
    if (this.timer) clearTimeout(this.timer);
    const ended = this.client?.end().catch(() => undefined);
    await Promise.race([ended, pause(FAREWELL_MS, undefined, { ref: false })]);
  }

  private askLater(client: pg.Client): void {
    if (this.closed || this.client !== client) return;
    this.later(ASK_MS, async () => {
      try {
        await client.query('SELECT');
        this.events.asked?.(client);
        this.askLater(client);
      } catch {
        this.lose(client);
      }
    });
  }

  private later(ms: number, then: () => Promise<void>): void {
    if (this.timer) clearTimeout(this.timer);
    this.timer = setTimeout(() => void then(), ms).unref();
  }
}
