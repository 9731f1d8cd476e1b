import type { IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { HttpAdapterHost } from '@nestjs/core';

/** A call within this time counts as concurrent with the work. */
const BESIDE_MS = 250;
/** During calls, deferrable work gets a quarter of the time: it pauses three times as long as it ran. */
const REST = 3;

/** Detects calls during deferrable work, so that the work leaves them most of the time. */
export class OtherCalls {
  private last = -Infinity;

  /** @param own the routes that observe the work: they do not count as calls */
  constructor(private readonly own: RegExp) {}

  /** Watches the server's requests. A tool has no server, and so no calls. */
  watch(http: HttpAdapterHost): void {
    const server = http.httpAdapter?.getHttpServer() as NodeJS.EventEmitter | undefined;
    server?.on('request', ({ url = '' }: IncomingMessage) => {
      if (!this.own.test(url)) this.last = performance.now();
    });
  }

  get areThere(): boolean {
    return performance.now() - this.last < BESIDE_MS;
  }

  /** Pauses three times as long as the work took, at most `mostMs`, while there are calls. */
  async leaveTime(workMs: number, mostMs = Infinity): Promise<void> {
    if (this.areThere) await pause(Math.min(workMs * REST, mostMs));
  }
}
