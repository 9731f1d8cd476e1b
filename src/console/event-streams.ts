import { Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { Interval } from '@nestjs/schedule';
import type { Request, Response } from 'express';
import { FindCaller } from '../platform/current-caller.js';
import { allowedAccountsOf, type Caller, type AllowedAccounts } from '../platform/context/caller.js';
import { rateLimited } from '../platform/errors.js';
import { Logger } from '../platform/observability/logger.js';
import { Readiness } from '../platform/observability/readiness.js';
import { Snapshots, type Snapshot } from './snapshot.js';

const POLL_MS = 2_000;
/**
 * The interval between heartbeats, in milliseconds. The console treats a stream as broken when nothing has arrived for
 * 10 seconds.
 */
const HEARTBEAT_MS = 4_000;
/** The maximum numbers of event streams that are open in this process: for one user, and for all users together. */
const MOST_OF_USER = 10;
const MOST = 1_000;
/** The number of unsent bytes at which an event stream is closed, because its reader has stopped reading. */
const MOST_UNREAD = 64 * 1024;

export const TOPICS = ['undelivered', 'attempts', 'partners', 'jobs', 'waiting', 'unmatched', 'imports'] as const;
type Topic = (typeof TOPICS)[number];
/** Maps each topic of the console to a value that changes whenever the topic's data changes. */
type Marks = ReadonlyMap<Topic, string>;

interface Stream {
  readonly request: Request;
  readonly response: Response;
  readonly username: string;
  readonly allowedAccounts: AllowedAccounts;
  /** The values of the topics at the time of the last event; null while the stream is being opened. */
  seen: Marks | null;
  heardAt: number;
}

/**
 * Notifies operators' pages of changes, so that no page has to poll.
 *
 * 1. Every two seconds, one database query (snapshot.ts) serves all streams of the process. Without streams, there is
 *    no query.
 * 2. Each stream receives the names of the topics that have changed in the accounts of its caller, but never the data.
 * 3. A caller who has lost access receives no further event, because the session or the token is checked at every
 *    heartbeat and before each event.
 *
 * An open stream does not extend the operator's session.
 */
@Injectable()
export class EventStreams implements BeforeApplicationShutdown {
  private readonly streams = new Set<Stream>();
  private looking = false;

  constructor(
    private readonly queryBus: QueryBus,
    private readonly snapshots: Snapshots,
    private readonly readiness: Readiness,
    private readonly logger: Logger,
  ) {}

  /**
   * Opens an event stream. The console page then loads its data once, and receives an event for each later change.
   * @throws DomainError rate_limited
   */
  async open(request: Request, response: Response, caller: Caller): Promise<void> {
    if (request.method === 'HEAD') {
      begin(response);
      response.end();
      return;
    }
    const ofUser = [...this.streams].filter(({ username }) => username === caller.username);
    if (ofUser.length >= MOST_OF_USER || this.streams.size >= MOST)
      throw rateLimited.error({ detail: 'Too many event streams are open.', headers: { 'Retry-After': '60' } });
    const { username } = caller;
    const stream: Stream = {
      request,
      response,
      username,
      allowedAccounts: allowedAccountsOf(caller),
      seen: null,
      heardAt: performance.now(),
    };
    this.streams.add(stream);
    response.on('close', () => this.streams.delete(stream));
    try {
      stream.seen = (await this.figures())(stream.allowedAccounts);
    } catch (error) {
      this.streams.delete(stream);
      throw error;
    }
    begin(response);
    response.write('retry: 5000\n\n');
  }

  @Interval(POLL_MS)
  async poll(): Promise<void> {
    if (this.streams.size === 0 || this.looking) return;
    if (this.readiness.isStopping) return this.endAll();
    this.looking = true;
    try {
      const marksFor = await this.figures();
      await Promise.all([...this.streams].map((stream) => this.send(stream, marksFor(stream.allowedAccounts))));
    } catch (error) {
      this.logger.warn({ err: error }, 'operators could not be notified of changes; the next round tries again');
    } finally {
      this.looking = false;
    }
  }

  beforeApplicationShutdown(): void {
    this.endAll();
  }

  /**
   * Queries the current values of all topics, and returns a function that limits the values to the accounts of a
   * caller.
   */
  private async figures(): Promise<(allowedAccounts: AllowedAccounts) => Marks> {
    const snapshotOf = await this.snapshots.read();
    const known = new Map<string, Marks>();
    return (allowedAccounts) => {
      const key = allowedAccounts === null ? '' : allowedAccounts.join(' ');
      let marks = known.get(key);
      if (!marks) known.set(key, (marks = marksOf(snapshotOf(allowedAccounts))));
      return marks;
    };
  }

  private async send(stream: Stream, marks: Marks): Promise<void> {
    const { seen } = stream;
    if (seen === null) return;
    const topics = TOPICS.filter((topic) => seen.get(topic) !== marks.get(topic));
    stream.seen = marks;
    const now = performance.now();
    if (topics.length === 0 && now - stream.heardAt < HEARTBEAT_MS) return;
    stream.heardAt = now;
    const caller = await this.queryBus.execute(new FindCaller(stream.request));
    if (caller === null || String(allowedAccountsOf(caller)) !== String(stream.allowedAccounts)) {
      stream.response.end('event: end\ndata: {}\n\n');
    } else if (stream.response.writableLength > MOST_UNREAD) {
      stream.response.destroy();
    } else {
      stream.response.write(
        topics.length === 0 ? ': ping\n\n' : `event: changed\ndata: ${JSON.stringify({ topics })}\n\n`,
      );
    }
  }

  private endAll(): void {
    for (const { response } of this.streams) response.end();
  }
}

function begin(response: Response): void {
  response.status(200);
  response.setHeader('Content-Type', 'text/event-stream; charset=utf-8');
  // The headers `Cache-Control` and `X-Accel-Buffering` tell proxies not to transform, compress or buffer the event
  // stream.
  response.setHeader('Cache-Control', 'no-store, no-transform');
  response.setHeader('X-Accel-Buffering', 'no');
}

function marksOf(snapshot: Snapshot): Marks {
  return new Map(TOPICS.map((topic) => [topic, JSON.stringify(snapshot[topic])]));
}
