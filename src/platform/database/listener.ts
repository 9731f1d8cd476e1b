import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import { listenerConfig } from './connections.js';
import { ServiceClient } from './service-client.js';

const CONNECT_AGAIN_MS = 1_000;
/** Firewalls and poolers forget connections on which nothing is said, and tell nobody. */
const ASK_MS = 5_000;
/** A server that is gone does not answer a farewell either. */
const FAREWELL_MS = 1_000;

export interface ListenerEvents {
  /** A message arrived on the channel. */
  heard(payload: string, client: pg.Client): void;
  /** From now on every message arrives; earlier ones may be missed. */
  listening?(client: pg.Client): Promise<void>;
  /** The server has answered: a message that was lost may be made up for. */
  asked?(client: pg.Client): void;
  /** No connection to listen on: it is tried again. */
  failed(error: unknown): void;
}

/**
 * A connection of its own that receives the messages of a channel (NOTIFY). A connection that only listens does not notice
 * that the server is gone. So it asks from time to time, and connects again when it gets no answer.
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

  /** Resolves when it listens, or will try again. */
  async open(): Promise<void> {
    const client = new ServiceClient(listenerConfig(this.url));
    this.client = client;
    client.on('error', () => this.lose(client));
    client.on('end', () => this.lose(client));
    client.on('notification', ({ payload }) => this.events.heard(payload ?? '', client));
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

  /** Makes up for a message that may be lost, at once. */
  ask(): void {
    if (this.client) this.events.asked?.(this.client);
  }

  /** This connection is of no use: another takes its place. */
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
