import { Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { QueryBus } from '@nestjs/cqrs';
import { Interval } from '@nestjs/schedule';
import type { Request, Response } from 'express';
import { FindCaller } from '../auth/auth.queries.js';
import { reachOf, type Caller, type Reach } from '../platform/context/caller.js';
import { rateLimited } from '../platform/errors.js';
import { Logger } from '../platform/observability/logger.js';
import { Readiness } from '../platform/observability/readiness.js';
import { Snapshots, type Snapshot } from './snapshot.js';

const LOOK_MS = 2_000;
const HEARTBEAT_MS = 15_000;
/** Tabs of one user, and streams of all of them, in this process. */
const MOST_OF_USER = 10;
const MOST = 1_000;
/** A reader that takes nothing any more has so much waiting. */
const MOST_UNREAD = 64 * 1024;

export const TOPICS = ['undelivered', 'attempts', 'partners', 'jobs', 'waiting', 'unmatched', 'imports'] as const;
type Topic = (typeof TOPICS)[number];
/** The values that change when the subject of a topic changes. */
type Marks = ReadonlyMap<Topic, string>;

interface Stream {
  readonly request: Request;
  readonly response: Response;
  readonly username: string;
  readonly reach: Reach;
  /** The values that were last sent, by topic; null while the stream is being opened. */
  seen: Marks | null;
  heardAt: number;
}

/**
 * Tells the pages of operators what has changed, so that none of them asks all the time.
 *
 * 1. Every two seconds one look at the database (snapshot.ts) serves all streams of the process; without streams there is none.
 * 2. A stream is sent the topics whose figures have changed since the last time, of the accounts of its caller; never the figures.
 * 3. A caller who may not call any more is sent nothing: the session or the token is checked at every heartbeat and before each event.
 *
 * A session does not last longer by its stream.
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
   * The page asks for everything when its stream is there: each change since then is sent.
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
      throw rateLimited.error({ detail: 'There are too many streams.', headers: { 'Retry-After': '60' } });
    const { username } = caller;
    const stream: Stream = {
      request,
      response,
      username,
      reach: reachOf(caller),
      seen: null,
      heardAt: performance.now(),
    };
    this.streams.add(stream);
    response.on('close', () => this.streams.delete(stream));
    try {
      stream.seen = (await this.figures())(stream.reach);
    } catch (error) {
      this.streams.delete(stream);
      throw error;
    }
    begin(response);
    response.write('retry: 5000\n\n');
  }

  @Interval(LOOK_MS)
  async look(): Promise<void> {
    if (this.streams.size === 0 || this.looking) return;
    if (this.readiness.isStopping) return this.endAll();
    this.looking = true;
    try {
      const marksFor = await this.figures();
      await Promise.all([...this.streams].map((stream) => this.tell(stream, marksFor(stream.reach))));
    } catch (error) {
      this.logger.warn({ err: error }, 'operators could not be told what changed; the next round tries again');
    } finally {
      this.looking = false;
    }
  }

  beforeApplicationShutdown(): void {
    this.endAll();
  }

  /** Returns the figures as a caller with these accounts sees them. */
  private async figures(): Promise<(reach: Reach) => Marks> {
    const snapshotOf = await this.snapshots.look();
    const known = new Map<string, Marks>();
    return (reach) => {
      const key = reach === null ? '' : reach.join(' ');
      let marks = known.get(key);
      if (!marks) known.set(key, (marks = marksOf(snapshotOf(reach))));
      return marks;
    };
  }

  private async tell(stream: Stream, marks: Marks): Promise<void> {
    const { seen } = stream;
    if (seen === null) return;
    const topics = TOPICS.filter((topic) => seen.get(topic) !== marks.get(topic));
    stream.seen = marks;
    const now = performance.now();
    if (topics.length === 0 && now - stream.heardAt < HEARTBEAT_MS) return;
    stream.heardAt = now;
    const caller = await this.queryBus.execute(new FindCaller(stream.request));
    if (caller === null || String(reachOf(caller)) !== String(stream.reach)) {
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
  // No proxy may change, that is pack, or collect it.
  response.setHeader('Cache-Control', 'no-store, no-transform');
  response.setHeader('X-Accel-Buffering', 'no');
}

function marksOf(snapshot: Snapshot): Marks {
  return new Map(TOPICS.map((topic) => [topic, JSON.stringify(snapshot[topic])]));
}
