import type { IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { HttpAdapterHost } from '@nestjs/core';

/**
 * The time after a request, in milliseconds, for which the request still counts as concurrent with the deferrable work.
 */
const BESIDE_MS = 250;
/**
 * The pause of deferrable work, as a multiple of the time for which the work ran. While there are requests, the work
 * thus gets a quarter of the time.
 */
const REST = 3;

/**
 * Detects requests that arrive while deferrable work is running. The work then pauses most of the time, so that it does
 * not delay the requests.
 */
export class OtherCalls {
  private last = -Infinity;

  /**
   * Detects all requests except those that `own` matches.
   * @param own matches the routes for observing the work itself; requests to these routes do not count
   */
  constructor(private readonly own: RegExp) {}

  /**
   * Observes the requests that the server receives. A command-line tool has no server, and therefore receives no
   * requests.
   */
  watch(http: HttpAdapterHost): void {
    const server = http.httpAdapter?.getHttpServer() as NodeJS.EventEmitter | undefined;
    server?.on('request', ({ url = '' }: IncomingMessage) => {
      if (!this.own.test(url)) this.last = performance.now();
    });
  }

  get areThere(): boolean {
    return performance.now() - this.last < BESIDE_MS;
  }

  /**
   * If the server received requests during the work, pauses three times as long as the work took, but at most `mostMs`.
   */
  async leaveTime(workMs: number, mostMs = Infinity): Promise<void> {
    if (this.areThere) await pause(Math.min(workMs * REST, mostMs));
  }
}
