import type { IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { HttpAdapterHost } from '@nestjs/core';

/** Calls that came within this time are beside the work. */
const BESIDE_MS = 250;
/** Beside calls work that can wait has a quarter of the time: it rests three times as long as it took. */
const REST = 3;

/** The calls that somebody makes beside work that can wait, which leaves most of the time to them. */
export class OtherCalls {
  private last = -Infinity;

  /** @param own the routes of those who watch the work: they are not beside it */
  constructor(private readonly own: RegExp) {}

  /** Without a server, as in a tool, nobody calls. */
  watch(http: HttpAdapterHost): void {
    const server = http.httpAdapter?.getHttpServer() as NodeJS.EventEmitter | undefined;
    server?.on('request', ({ url = '' }: IncomingMessage) => {
      if (!this.own.test(url)) this.last = performance.now();
    });
  }

  get areThere(): boolean {
    return performance.now() - this.last < BESIDE_MS;
  }

  /** Beside calls, waits three times as long as the work took, and `mostMs` at most. */
  async leaveTime(workMs: number, mostMs = Infinity): Promise<void> {
    if (this.areThere) await pause(Math.min(workMs * REST, mostMs));
  }
}
