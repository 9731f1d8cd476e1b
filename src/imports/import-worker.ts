import { AsyncResource } from 'node:async_hooks';
import { Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { QueryBus } from '@nestjs/cqrs';
import { Interval } from '@nestjs/schedule';
import { Config } from '../config.js';
import { Clock } from '../platform/clock.js';
import type { Caller, Scope } from '../platform/context/caller.js';
import { inTheNameOf } from '../platform/context/request-context.js';
import { FindCurrentScopes } from '../platform/current-scopes.js';
import { OtherCalls } from '../platform/overload/other-calls.js';
import { Logger } from '../platform/observability/logger.js';
import { UnitOfWork } from '../platform/unit-of-work/unit-of-work.js';
import { Worker } from '../platform/worker.js';
import { ImportEndings } from './import-endings.js';
import { ImportStore, type ClaimedImport } from './import-store.js';
import type { RowOutcome, WaitingRow } from './imports.rules.js';
import { RowWork, type RowGroup } from './row-work.js';

const OWN_ROUTES = /^[^?]*\/eligibility-imports/i;
/** Chunks of one transaction while nobody calls; no more begin when this long has passed. */
const CHUNKS_AT_ONCE = 21;
/**
 * Chunks that are done by one statement. The first is by itself: until it is prepared the database has nothing to do. Those of
 * a dry run all are, so that it says the same whenever it is asked.
 */
const CHUNKS_TOGETHER = 5;
const LONG_MS = 5_000;
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
 * Does imports.
 *
 * 1. A worker claims an import of the account that has waited longest, with a lease and a new token: the next chunks are its
 *    own. So the chunks of one import are done one after another, and accounts take turns, over all processes, however many
 *    imports each has; so do the imports of an account.
 * 2. The rows of the chunks, what became of them, the counts and the end of the lease are one transaction, which names the
 *    token: who lost the lease, or was aborted, commits nothing. A row is done once or not at all.
 * 3. The import of a crashed process is claimed again when the lease has run out; it goes on with the chunk that was not committed.
 * 4. Before each turn the rights of who sent it are looked up: without the scope `create`, the account, the user or the
 *    application the import ends. Rows of a scope that was taken away are refused.
 * 5. A process does one import at a time, over one connection. Beside calls it takes a single chunk, and rests before the next.
 *
 * Never count outside of the chunks' transaction.
 */
@Injectable()
export class ImportWorker extends Worker {
  private readonly otherCalls = new OtherCalls(OWN_ROUTES);

  constructor(
    config: Config,
    logger: Logger,
    private readonly clock: Clock,
    private readonly unitOfWork: UnitOfWork,
    private readonly store: ImportStore,
    private readonly endings: ImportEndings,
    private readonly queryBus: QueryBus,
    private readonly rowWork: RowWork,
    private readonly http: HttpAdapterHost,
  ) {
    super(config, logger, 'an import');
    clock.follow({ catchUp: () => this.sweep() });
  }

  override onApplicationBootstrap(): void {
    super.onApplicationBootstrap();
    this.otherCalls.watch(this.http);
  }

  /** Ends the imports of lost processes, and deletes those that have expired. */
  @Interval(60_000)
  async sweep(): Promise<void> {
    try {
      const now = this.clock.now();
      for (const id of await this.store.findLost()) await this.endings.end(id, 'BODY_LOST');
      await this.store.removeUndone(now);
      while (await this.store.removeOld(new Date(now.getTime() - RETENTION_MS)));
    } catch (error) {
      this.logger.warn({ err: error }, 'the sweep of imports failed; the next round tries again');
    }
  }

  protected async doNext(): Promise<boolean> {
    const started = performance.now();
    const claimed = await this.store.claim(this.clock.now());
    if (claimed === null) return false;
    if (await this.keepsAccess(claimed)) await this.doChunks(claimed, started);
    await this.otherCalls.leaveTime(performance.now() - started);
    return true;
  }

  /** Ends the import of who may not import any more, and leaves of its scopes those that its user still has. */
  private async keepsAccess(claimed: ClaimedImport): Promise<boolean> {
    try {
      const { username, consumer_key, account_code } = claimed;
      const scopes = await this.queryBus.execute(new FindCurrentScopes(username, consumer_key, account_code));
      claimed.scopes = claimed.scopes.filter((scope) => scopes?.has(scope as Scope));
      if (claimed.scopes.includes('create')) return true;
      await this.endings.end(claimed.import_id, 'ACCESS_LOST');
      return false;
    } catch (error) {
      await this.store.release(claimed).catch(() => undefined);
      throw error;
    }
  }

  private async doChunks(claimed: ClaimedImport, started: number): Promise<void> {
    try {
      await inTheNameOf(callerOf(claimed), claimed.request_id, () => {
        const prepare = AsyncResource.bind((rows: readonly WaitingRow[]) => this.prepare(claimed, rows));
        return this.unitOfWork.run(async () => {
          const chunks = await this.store.rowsOf(claimed, this.otherCalls.areThere ? 1 : CHUNKS_AT_ONCE);
          if (chunks.length === 0) throw new ChunkLost();
          const batches = batchesOf(chunks, claimed.dry_run ? 1 : CHUNKS_TOGETHER);
          const outcomes: RowOutcome[][] = [];
          let groups = prepare(batches[0].flat());
          for (let index = 0; index < batches.length; index++) {
            const ready = await groups;
            const isLast =
              this.otherCalls.areThere || performance.now() - started > LONG_MS || index === batches.length - 1;
            // The next rows are prepared while the database has these.
            const next = isLast ? null : prepare(batches[index + 1].flat());
            // Waited for below, unless the work fails before.
            next?.catch(() => undefined);
            const done = await this.outcomesOf(claimed, ready);
            outcomes.push(...batches[index].map((chunk) => done.splice(0, chunk.length)));
            if (next === null) break;
            groups = next;
          }
          if (!(await this.store.record(claimed, outcomes, this.clock.now()))) throw new ChunkLost();
        });
      });
    } catch (error) {
      if (error instanceof ChunkLost) return;
      await this.store.release(claimed).catch(() => undefined);
      throw error;
    }
  }

  private prepare(
    { account_code, columns, scopes }: ClaimedImport,
    rows: readonly WaitingRow[],
  ): Promise<readonly RowGroup[]> {
    return this.rowWork.prepare(account_code, rows, columns, new Set(scopes));
  }

  private async outcomesOf(claimed: ClaimedImport, groups: readonly RowGroup[]): Promise<RowOutcome[]> {
    const run = () => this.rowWork.run(claimed.account_code, groups);
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

function batchesOf<Chunk>(chunks: readonly Chunk[], together: number): Chunk[][] {
  const batches = [chunks.slice(0, 1)];
  for (let from = 1; from < chunks.length; from += together) batches.push(chunks.slice(from, from + together));
  return batches;
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
