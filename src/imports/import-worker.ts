import type { IncomingMessage } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { Interval } from '@nestjs/schedule';
import { Config } from '../config.js';
import { Clock } from '../platform/clock.js';
import type { Caller, Scope } from '../platform/context/caller.js';
import { inTheNameOf } from '../platform/context/request-context.js';
import { Logger } from '../platform/observability/logger.js';
import { UnitOfWork } from '../platform/unit-of-work/unit-of-work.js';
import { ImportStore, type ClaimedImport } from './import-store.js';
import type { RowOutcome, WaitingRow } from './imports.rules.js';
import { RowWork } from './row-work.js';

const LOOK_MS = 1_000;
/** Calls that came within this time are beside the import; those of who watches it are not. */
const BESIDE_MS = 250;
const OWN_ROUTES = '/eligibility-imports';
/** Beside calls an import has this share of the time: it rests three times as long as it worked. */
const REST = 3;
const RETENTION_MS = 30 * 86_400_000;

/** The chunk belongs to another worker now, or to nobody. */
class ChunkLost extends Error {}
/** Undoes what a dry run did. */
class DryRun extends Error {
  constructor(readonly outcomes: RowOutcome[]) {
    super('a dry run');
  }
}

/**
 * Does imports, in processes with the role `delivery`.
 *
 * 1. A worker claims the import that has waited longest, with a lease and a new token: the next chunk is its own. So the
 *    chunks of one import are done one after another, and imports take turns, over all processes.
 * 2. The rows of the chunk, what became of them, the counts and the end of the lease are one transaction, which names the
 *    token: who lost the lease, or was aborted, commits nothing. A row is done once or not at all.
 * 3. What a crash left is claimed again when the lease has run out; it goes on with the chunk that was not committed.
 * 4. A process does one chunk at a time, over one connection; beside calls it rests between chunks.
 *
 * Never count outside of the chunk's transaction.
 */
@Injectable()
export class ImportWorker implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private active = false;
  private running: Promise<void> | null = null;
  private lastCall = 0;

  constructor(
    private readonly config: Config,
    private readonly logger: Logger,
    private readonly clock: Clock,
    private readonly unitOfWork: UnitOfWork,
    private readonly store: ImportStore,
    private readonly rowWork: RowWork,
    private readonly http: HttpAdapterHost,
  ) {
    clock.follow({ catchUp: () => this.sweep() });
  }

  onApplicationBootstrap(): void {
    this.active = this.config.roles.has('delivery');
    const server = this.http.httpAdapter?.getHttpServer() as NodeJS.EventEmitter | undefined;
    server?.on('request', ({ url = '' }: IncomingMessage) => {
      if (!url.includes(OWN_ROUTES)) this.lastCall = performance.now();
    });
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.active = false;
    await this.running;
  }

  /** Looks for work; returns once there is none. */
  @Interval(LOOK_MS)
  look(): Promise<void> {
    if (this.active) this.running ??= this.work().finally(() => (this.running = null));
    return this.running ?? Promise.resolve();
  }

  /** What a lost process left, and what has served its time. */
  @Interval(60_000)
  async sweep(): Promise<void> {
    try {
      const now = this.clock.now();
      for (const id of await this.store.findLost()) await this.store.end(id, 'FAILED', now);
      await this.store.removeUndone(now);
      while (await this.store.removeOld(new Date(now.getTime() - RETENTION_MS)));
    } catch (error) {
      this.logger.warn({ err: error }, 'the sweep of imports failed; the next round tries again');
    }
  }

  private async work(): Promise<void> {
    while (this.active) {
      const started = performance.now();
      try {
        const claimed = await this.store.claim(this.clock.now());
        if (claimed === null) return;
        await this.doChunk(claimed);
      } catch (error) {
        this.logger.warn({ err: error }, 'an import rests; the next round goes on');
        return;
      }
      const ended = performance.now();
      if (ended - this.lastCall < BESIDE_MS) await pause((ended - started) * REST);
    }
  }

  private async doChunk(claimed: ClaimedImport): Promise<void> {
    try {
      await inTheNameOf(callerOf(claimed), claimed.request_id, () =>
        this.unitOfWork.run(async () => {
          const rows = await this.store.rowsOf(claimed);
          if (rows === null) throw new ChunkLost();
          const outcomes = await this.outcomesOf(claimed, rows);
          if (!(await this.store.record(claimed, outcomes, this.clock.now()))) throw new ChunkLost();
        }),
      );
    } catch (error) {
      if (error instanceof ChunkLost) return;
      await this.store.release(claimed).catch(() => undefined);
      throw error;
    }
  }

  private async outcomesOf(claimed: ClaimedImport, rows: readonly WaitingRow[]): Promise<RowOutcome[]> {
    const run = () => this.rowWork.run(claimed.account_code, new Set(claimed.scopes), rows);
    if (!claimed.dry_run) return run();
    try {
      return await this.unitOfWork.part(async () => {
        throw new DryRun(await run());
      });
    } catch (error) {
      if (error instanceof DryRun) return error.outcomes;
      throw error;
    }
  }
}

function callerOf({ username, consumer_key, scopes, account_code }: ClaimedImport): Caller {
  return {
    username,
    consumerKey: consumer_key,
    scopes: new Set(scopes as Scope[]),
    accountCodes: new Set([account_code]),
    isOperator: false,
  };
}
