import { AsyncResource } from 'node:async_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import type { PoolClient } from 'pg';
import type { AuditDetails } from '../audit/audit-entry.js';
import { auditEntry, auditValues, insertAudit } from '../audit/audit-log.js';
import { changeRows, changesValue, type RecordChange } from '../changes/change-log.js';
import { isRecordChange } from '../changes/change.entity.js';
import { tellingChanges, type RecordEventClass } from '../changes/record-event.js';
import { requestContext } from '../context/request-context.js';
import type { DomainEvent } from '../events/domain-event.js';
import { EVENT_COLUMNS, eventValues, INSERT_EVENTS, Outbox, type EventRow } from '../events/outbox.js';
import { noConnectionFree } from '../database/fair-connections.js';
import { currentTransaction, Database, prepared, type Statement } from '../database/database.js';
import { mayBeRepeated } from '../database/statement-retries.js';
import { DomainError } from '../errors.js';
import { Batcher } from '../batcher.js';
import { BatchedUnit, isPostgresRefusal, isRejected, MustBeAlone, ownRefusal, RunningUnit } from './running-unit.js';

/** The maximum number of attempts. A release that changes several tables may abort a transaction several times. */
const ATTEMPTS = 5;
/** The pause before a transaction is retried, in milliseconds: random between this value and twice this value. */
const RETRY_PAUSE_MS = 25;

const RECORD = prepared(
  'unit-of-work-record',
  `WITH events AS (${INSERT_EVENTS}), audited AS (${insertAudit(11)}),
   ${tellingChanges(changeRows('$9'), '$10::text')}
   SELECT ${EVENT_COLUMNS} FROM told`,
);

/** The statement that shortens the lock timeout of a shared transaction. All its commands wait for the lock. */
const WAIT_LITTLE = { text: `SET LOCAL lock_timeout = '200ms'` };

/** The work of a command that waits to run in a shared transaction. */
interface Joined {
  readonly key: string;
  /** Executes the command in the context of its request, as a part of the shared transaction. */
  readonly work: (unit: BatchedUnit) => Promise<unknown>;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

const MOST_JOINED = 50;

/**
 * Runs each command in one transaction.
 *
 * 1. `run(work)` opens a transaction, to which every `Database` call inside `work` belongs, even after an await.
 * 2. A nested `run` joins the transaction of the outermost call. Only the outermost call sends BEGIN and COMMIT.
 * 3. `raise(event)`, `audit(action, subject, details)` and `change(change)` are buffered and written just before
 *    COMMIT. State, event, audit entry and change feed entry therefore exist together or not at all.
 * 4. `send(statement)` does not wait for the result. Sent statements, buffered rows and COMMIT are sent together, which
 *    saves round trips. PostgreSQL executes them in order, and commits nothing after an error.
 * 5. After COMMIT, the outbox passes the events to the event bus. If the process crashes first, a sweep passes them.
 * 6. `part(work)` is a savepoint: `work` may fail without failing the unit of work.
 * 7. `runWithOthers(key, work)` shares its transaction with concurrent commands under other keys. In a nested call, the
 *    command also claims the key of that call.
 * - An error of one command's work fails that command alone. The work may read, and may `keep` rows for statements that
 *   are sent for all joined commands together.
 * - Work that cannot share the transaction, for example because a record is locked, throws {@link MustBeAlone} and gets
 *   its own transaction. Work with a nested `run` also gets its own transaction.
 * - Each joined command gets its own transaction when the shared transaction fails, or when a command that has already
 *   written is refused.
 * - Once COMMIT is sent, only an error from PostgreSQL proves a rollback. Work that may be committed is not repeated.
 * 8. After a deadlock, or a change to a table's columns, the whole work is retried up to four times; `work` must have
 *    no effect outside the database. The pause before a retry lets the other transaction of the deadlock get its lock.
 *
 * Never send HTTP requests inside `work`, and never let a promise outlive `work`.
 */
@Injectable()
export class UnitOfWork {
  private readonly batched = new Batcher<Joined>(MOST_JOINED, (joined) => this.host(joined), noConnectionFree);

  constructor(
    private readonly database: Database,
    private readonly outbox: Outbox,
  ) {}

  async run<T>(work: () => Promise<T>): Promise<T> {
    const unit = currentTransaction.current;
    if (unit instanceof BatchedUnit) throw new MustBeAlone();
    if (unit) return work();
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.runOnce(work);
      } catch (error) {
        if (attempt === ATTEMPTS || !mayBeRepeated(error)) throw error;
        await pause(RETRY_PAUSE_MS * (1 + Math.random()));
      }
    }
  }

  /**
   * Runs the work of a command, if possible in a transaction that it shares with other commands.
   * @param key identifies the record that the work changes; commands with the same key do not share a transaction
   * @param work may be called again for a retry
   */
  async runWithOthers<T>(key: string, work: () => Promise<T>): Promise<T> {
    const unit = currentTransaction.current;
    if (unit instanceof BatchedUnit) unit.claim(key);
    if (unit) return work();
    const ofRequest = new AsyncResource('request of a batched unit of work');
    try {
      return await new Promise<T>((resolve, reject) =>
        this.batched.add({
          key,
          work: (unit) => ofRequest.runInAsyncScope(() => currentTransaction.run(unit, work)),
          resolve,
          reject,
        }),
      );
    } catch (error) {
      if (error instanceof MustBeAlone) return this.run(work);
      throw error;
    }
  }

  /** Whether other commands share the current transaction. If one of these commands waits, all of them are delayed. */
  get isShared(): boolean {
    return currentTransaction.current instanceof BatchedUnit;
  }

  /**
   * Runs the commands in one transaction, and reports their results after its end. Until then, the transaction holds
   * the locks of refused commands.
   */
  private async host(joined: readonly Joined[]): Promise<void> {
    const values = new Map<Joined, unknown>();
    const refusals = new Map<Joined, unknown>();
    let unit: RunningUnit | null = null;
    try {
      await this.runOnce(async () => {
        const host = (unit = this.running());
        void host.send(WAIT_LITTLE, []);
        const claims = new Map<string, BatchedUnit>();
        let isSpoilt = false;
        const enter = async (request: Joined): Promise<void> => {
          const part = new BatchedUnit(host, claims);
          try {
            part.claim(request.key);
            values.set(request, await request.work(part));
            host.take(part);
          } catch (error) {
            refusals.set(request, ownRefusal(error));
            isSpoilt ||= part.hasWritten || !(error instanceof DomainError || error instanceof MustBeAlone);
          }
        };
        await Promise.all(joined.map(enter));
        if (isSpoilt) throw new MustBeAlone();
      });
      for (const [{ resolve }, value] of values) resolve(value as never);
      for (const [{ reject }, refusal] of refusals) reject(refusal);
    } catch (error) {
      const isUnknown = unit !== null && (unit as RunningUnit).isCommitting && !isPostgresRefusal(error);
      const refusal = isUnknown ? error : ownRefusal(error);
      for (const request of joined) request.reject(refusals.get(request) ?? refusal);
    }
  }

  /**
   * Runs a part of the unit of work that may fail alone. If it throws, its writes, events and audit entries are rolled
   * back, and the unit of work continues. Parts may be nested, but must not run concurrently.
   */
  async part<T>(work: () => Promise<T>): Promise<T> {
    const unit = this.running();
    if (unit instanceof BatchedUnit) throw new MustBeAlone();
    unit.flush();
    const lists: unknown[][] = [unit.events, unit.recorded, unit.told, unit.audit, unit.changes, unit.afterCommit];
    const before = lists.map((list) => [...list]);
    const sentBefore = unit.sent.length;
    await unit.client.query('SAVEPOINT part');
    try {
      const value = await work();
      unit.flush();
      await Promise.all(unit.sent.slice(sentBefore));
      await unit.client.query('RELEASE SAVEPOINT part');
      return value;
    } catch (error) {
      const refused = (await Promise.allSettled(unit.sent.splice(sentBefore))).find(isRejected);
      lists.forEach((list, index) => list.splice(0, list.length, ...before[index]));
      unit.kept.clear();
      await unit.client.query('ROLLBACK TO SAVEPOINT part');
      // Without RELEASE, this savepoint would hide the savepoint of an enclosing part, which has the same name.
      await unit.client.query('RELEASE SAVEPOINT part');
      throw refused?.reason ?? error;
    }
  }

  /** Writes the event to the outbox when the current transaction commits. */
  raise(event: DomainEvent): void {
    this.running().events.push(event);
  }

  /** Writes an audit entry for the caller of the current request when the current transaction commits. */
  audit(action: string, subject: string, details?: AuditDetails): void {
    this.running().audit.push(auditEntry(action, subject, details));
  }

  /** Returns the subjects of the audit entries of the current unit of work. */
  subjects(): string[] {
    return [...new Set(this.running().audit.map(({ subject }) => subject))];
  }

  /** Writes an entry of the change feed when the current transaction commits. */
  change(change: RecordChange): void {
    this.running().changes.push(change);
  }

  /**
   * Writes a change to a record to the change feed when the current transaction commits. If a subscription listens to
   * the change, the event is also written to the outbox.
   */
  raiseOf({ change }: RecordEventClass, of: Omit<RecordChange, 'change'>): void {
    this.change({ ...of, change });
  }

  /** Publishes, after the commit, the events that a statement of the current transaction has written. */
  publishAfterCommit(rows: readonly EventRow[]): void {
    if (rows.length > 0) this.afterCommit(() => this.outbox.publishStored(rows));
  }

  /** Sends a statement in the current transaction without waiting for its result. An error fails the unit of work. */
  send(statement: Statement, values: unknown[]): void {
    void this.running().send(statement, values);
  }

  /**
   * Buffers a row for a statement that writes any number of rows. The statement reads the rows from
   * `json_to_recordset($1)`, each with a number `n`. The rows are sent before the next query, and at the end of the
   * unit of work. Until they are sent, keep at most one row per record for a statement, because one statement cannot
   * change a record twice.
   */
  keep(statement: Statement, row: object): void {
    this.running().keep(statement, [row]);
  }

  /** Calls the function after the commit of the current transaction or, outside a transaction, immediately. */
  afterCommit(callback: () => void): void {
    const unit = currentTransaction.current;
    if (unit instanceof RunningUnit) unit.afterCommit.push(callback);
    else callback();
  }

  /** Writes the buffered events, audit entries and changes now, so that later statements can read and change them. */
  recordNow(): void {
    this.record(this.running());
  }

  private record(unit: RunningUnit): void {
    unit.flush();
    const { events, audit, changes } = unit;
    if (events.length + audit.length + changes.length === 0) return;
    const traceparent = changes.some(({ change }) => isRecordChange(change)) ? requestContext().traceparent : null;
    const values = [...eventValues(events), changesValue(changes), traceparent, ...auditValues(audit)];
    unit.told.push(unit.send<EventRow>(RECORD, values));
    unit.recorded.push(...events.splice(0));
    audit.length = 0;
    changes.length = 0;
  }

  private async runOnce<T>(work: () => Promise<T>): Promise<T> {
    const runner = this.database.dataSource.createQueryRunner();
    let sent: Promise<unknown>[] = [];
    let unit: RunningUnit;
    let result: T;
    try {
      unit = new RunningUnit(runner, (await runner.connect()) as PoolClient);
      ({ sent } = unit);
      await runner.startTransaction();
      result = await currentTransaction.run(unit, async () => {
        const value = await work();
        this.record(unit);
        return value;
      });
      unit.isCommitting = true;
      await runner.commitTransaction();
      await Promise.all(sent);
    } catch (error) {
      if (runner.isTransactionActive) await runner.rollbackTransaction().catch(() => undefined);
      // After a statement fails in a transaction, PostgreSQL refuses all further statements. The first error is
      // therefore the cause.
      const refused = (await Promise.allSettled(sent)).find(isRejected);
      throw refused?.reason ?? error;
    } finally {
      await runner.release();
    }
    this.outbox.publish(unit.recorded);
    this.outbox.publishStored((await Promise.all(unit.told)).flatMap(({ rows }) => rows));
    for (const callback of unit.afterCommit) callback();
    return result;
  }

  private running(): RunningUnit {
    const unit = currentTransaction.current;
    if (!(unit instanceof RunningUnit)) throw new Error('There is no running unit of work.');
    return unit;
  }
}
