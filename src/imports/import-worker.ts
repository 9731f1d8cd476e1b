import { AsyncResource } from 'node:async_hooks';
import { Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { QueryBus } from '@nestjs/cqrs';
import { Interval } from '@nestjs/schedule';
import { ProcessConfig } from '../platform/process.config.js';
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
/**
 * The maximum number of chunks in one transaction while no other requests run. After `LONG_MS`, the transaction begins
 * no further chunk.
 */
const CHUNKS_AT_ONCE = 21;
/**
 * The number of chunks that are stored by one statement. The first chunk is sent alone, so that the database can start
 * while the next chunks are prepared. A dry run always sends each chunk alone, so that its result does not depend on
 * the grouping.
 */
const CHUNKS_TOGETHER = 5;
const LONG_MS = 5_000;
const RETENTION_MS = 30 * 86_400_000;

/** Thrown when the worker has lost its claim on the chunk. */
class ChunkLost extends Error {}
/** Thrown to roll back the transaction of a dry run; it contains the outcomes of the rows. */
class DryRun extends Error {
  constructor(readonly outcomes: RowOutcome[]) {
    super('a dry run');
  }
}

/**
 * Processes imports.
 *
 * 1. A worker claims an import of the account that has waited longest, with a lease and a new fencing token. The chunks
 *    of one import are therefore processed one after another. All processes together serve the accounts in turn,
 *    however many imports each account has. The imports of one account are also served in turn.
 * 2. The chunks' rows, their outcomes, the counts and the release of the lease are written in one transaction, which
 *    checks the token. A worker that lost the lease, or whose import was aborted, commits nothing. Each row is
 *    processed once or not at all.
 * 3. After a crash, the import is claimed again when the lease has expired, and continues with the first uncommitted
 *    chunk.
 * 4. Each time a worker has claimed an import, the worker checks the sender's rights. The import ends if the sender has
 *    lost the `create` scope or access to the account. If the sender has lost another scope, the rows that need it are
 *    refused.
 * 5. A process works on one import at a time, over one connection. While other requests are running, the process
 *    completes a single chunk and then pauses.
 *
 * Never update counts outside the chunks' transaction.
 */
@Injectable()
export class ImportWorker extends Worker {
  private readonly otherCalls = new OtherCalls(OWN_ROUTES);

  constructor(
    config: ProcessConfig,
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

  /** Ends the imports whose receiving process crashed, and deletes imports after their retention period. */
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

  /**
   * Ends the import if its sender has lost access. Otherwise, reduces the import's scopes to those that the sender
   * still has.
   */
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
            // The next rows of the import are prepared while the database processes the current rows.
            const next = isLast ? null : prepare(batches[index + 1].flat());
            // The empty error handler only prevents an unhandled rejection. The preparation of the next rows is awaited
            // later, unless the current rows fail first.
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
    subscriptionIds: new Set(),
    isOperator: false,
  };
}
