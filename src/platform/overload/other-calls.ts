import type { IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { HttpAdapterHost } from '@nestjs/core';

/** The time after a request during which the request counts as concurrent with the work. */
const BESIDE_MS = 250;
/**
 * The pause of deferrable work, as a multiple of the time that it ran: during requests, it gets a quarter of the time.
 */
const REST = 3;

/** Detects requests during deferrable work, so that the work leaves them most of the time. */
export class OtherCalls {
  private last = -Infinity;

  /** @param own matches the routes that observe the work, which do not count */
  constructor(private readonly own: RegExp) {}

  /** Watches the requests of the server. A command-line tool has no server, and so no requests. */
  watch(http: HttpAdapterHost): void {
    const server = http.httpAdapter?.getHttpServer() as NodeJS.EventEmitter | undefined;
    server?.on('request', ({ url = '' }: IncomingMessage) => {
      if (!this.own.test(url)) this.last = performance.now();
    });
  }

  get areThere(): boolean {
    return performance.now() - this.last < BESIDE_MS;
  }

  /** If there are requests, pauses three times as long as the work took, at most `mostMs`. */
  async leaveTime(workMs: number, mostMs = Infinity): Promise<void> {
    if (this.areThere) await pause(Math.min(workMs * REST, mostMs));
  }
}
