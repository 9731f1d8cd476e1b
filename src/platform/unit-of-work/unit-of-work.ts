import { AsyncResource } from 'node:async_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { DatabaseError, type PoolClient } from 'pg';
import type { AuditDetails } from '../audit/audit-entry.js';
import { auditEntry, auditValues, insertAudit } from '../audit/audit-log.js';
import { changesValue, insertChanges, type RecordChange } from '../changes/change-log.js';
import type { DomainEvent } from '../events/domain-event.js';
import { eventValues, INSERT_EVENTS, Outbox } from '../events/outbox.js';
import { noConnectionFree } from '../database/connection-turns.js';
import {
  currentTransaction,
  Database,
  isDatabaseUnavailable,
  isTimedOut,
  prepared,
  type Statement,
} from '../database/database.js';
import { DomainError } from '../errors.js';
import { Gathering } from '../gathering.js';
import { GuestUnit, MustBeAlone, RunningUnit } from './running-unit.js';

const DEADLOCK = '40P01';
const SERIALIZATION_FAILURE = '40001';
const ATTEMPTS = 3;
/** Before it is done again, in milliseconds: at least as long, at most twice. */
const RETRY_PAUSE_MS = 25;

const RECORD = prepared(
  'unit-of-work-record',
  `WITH events AS (${INSERT_EVENTS}), audited AS (${insertAudit(10)}) ${insertChanges('$9')}`,
);

/** Nobody waits long for a lock while others wait for the transaction. */
const WAIT_LITTLE = { text: `SET LOCAL lock_timeout = '200ms'` };

/** A command that waits for a transaction to share. */
interface Guest {
  readonly key: string;
  /** Does the command's work, in the context of its request, as a part of the transaction. */
  readonly work: (unit: GuestUnit) => Promise<unknown>;
  readonly resolve: (value: never) => void;
  readonly reject: (error: unknown) => void;
}

const MOST_GUESTS = 50;

/**
 * One transaction for each command.
 *
 * 1. `run(work)` opens a transaction; every `Database` call inside `work` is part of it, through any number of awaits.
 * 2. A nested `run` joins: there is one BEGIN and one COMMIT, by the outermost.
 * 3. `raise(event)`, `audit(action, subject, details)` and `change(change)` are kept and written just before COMMIT, in that transaction:
 *    state, event, audit row and entry of the change feed exist together or not at all.
 * 4. `send(statement)` does not wait for the answer: what is sent, those and COMMIT go out together, which
 *    saves their round trips. PostgreSQL answers in order, and commits nothing once one statement was refused.
 * 5. After COMMIT the outbox hands the events to the event bus. A crash before that loses nothing: the rows are swept.
 * 6. `part(work)` is a savepoint: work that may fail without failing the unit.
 * 7. `runWithOthers(key, work)` shares its transaction with commands that come at the same time, under other keys; a nested one adds
 *    its key. An error of the work is its own refusal and changes nothing; the work may read, and `keep` rows of statements that
 *    are sent for all joined units together. Work that cannot share, because a record is locked say, throws
 *    {@link MustBeAlone} and gets a transaction of its own. So does work with a nested `run`, and so do all joined units when
 *    their transaction fails, or when one leaves it that has written. Once COMMIT is on its way only PostgreSQL's own
 *    refusal says that nothing happened: work with an unknown end is not repeated.
 * 8. A deadlock starts the whole work again, at most twice; so `work` has no effect outside the database. The pause before
 *    lets the other transaction take the lock that it waits for: begun at once, the work can take it back from under it.
 *
 * Never do HTTP inside `work`, and never let a promise outlive it.
 */
@Injectable()
export class UnitOfWork {
  private readonly guests = new Gathering<Guest>(MOST_GUESTS, (guests) => this.host(guests), noConnectionFree);

  constructor(
    private readonly database: Database,
    private readonly outbox: Outbox,
  ) {}

  async run<T>(work: () => Promise<T>): Promise<T> {
    const unit = currentTransaction.current;
    if (unit instanceof GuestUnit) throw new MustBeAlone();
    if (unit) return work();
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.runOnce(work);
      } catch (error) {
        const code = (error as { code?: unknown }).code;
        if (attempt === ATTEMPTS || (code !== DEADLOCK && code !== SERIALIZATION_FAILURE)) throw error;
        await pause(RETRY_PAUSE_MS * (1 + Math.random()));
      }
    }
  }

  /**
   * @param key of what the work changes: two that change the same do not share a transaction
   * @param work may be done again
   */
  async runWithOthers<T>(key: string, work: () => Promise<T>): Promise<T> {
    const unit = currentTransaction.current;
    if (unit instanceof GuestUnit) unit.claim(key);
    if (unit) return work();
    const ofRequest = new AsyncResource('guest of a unit of work');
    try {
      return await new Promise<T>((resolve, reject) =>
        this.guests.add({
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

  /** Whether others share the running transaction, and would wait for whatever it waits for. */
  get isShared(): boolean {
    return currentTransaction.current instanceof GuestUnit;
  }

  /** Tells each its outcome when the transaction has ended, and with it the locks of those that have left. */
  private async host(guests: readonly Guest[]): Promise<void> {
    const values = new Map<Guest, unknown>();
    const refusals = new Map<Guest, unknown>();
    let unit: RunningUnit | null = null;
    try {
      await this.runOnce(async () => {
        const host = (unit = this.running());
        host.send(WAIT_LITTLE, []);
        const claims = new Map<string, GuestUnit>();
        let isSpoilt = false;
        const enter = async (guest: Guest): Promise<void> => {
          const part = new GuestUnit(host, claims);
          try {
            part.claim(guest.key);
            values.set(guest, await guest.work(part));
            host.take(part);
          } catch (error) {
            refusals.set(guest, ownRefusal(error));
            isSpoilt ||= part.hasWritten || !(error instanceof DomainError || error instanceof MustBeAlone);
          }
        };
        await Promise.all(guests.map(enter));
        if (isSpoilt) throw new MustBeAlone();
      });
      for (const [{ resolve }, value] of values) resolve(value as never);
      for (const [{ reject }, refusal] of refusals) reject(refusal);
    } catch (error) {
      const isUnknown = unit !== null && (unit as RunningUnit).isCommitting && !isPostgresRefusal(error);
      const refusal = isUnknown ? error : ownRefusal(error);
      for (const guest of guests) guest.reject(refusals.get(guest) ?? refusal);
    }
  }

  /**
   * Does a part of the running unit of work that may fail alone: when it throws, what it wrote, raised and audited is as
   * if it had never been, and the unit goes on. Parts come one after another, or within one another.
   */
  async part<T>(work: () => Promise<T>): Promise<T> {
    const unit = this.running();
    if (unit instanceof GuestUnit) throw new MustBeAlone();
    unit.flush();
    const lists: unknown[][] = [unit.events, unit.recorded, unit.audit, unit.changes, unit.afterCommit];
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
      // It would hide the one around it.
      await unit.client.query('RELEASE SAVEPOINT part');
      throw refused?.reason ?? error;
    }
  }

  /** Writes the event to the outbox when the running transaction commits. */
  raise(event: DomainEvent): void {
    this.running().events.push(event);
  }

  /** Leaves an audit row, by the caller of the running request, when the running transaction commits. */
  audit(action: string, subject: string, details?: AuditDetails): void {
    this.running().audit.push(auditEntry(action, subject, details));
  }

  /** The subjects of the audit rows that the running unit of work leaves. */
  subjects(): string[] {
    return [...new Set(this.running().audit.map(({ subject }) => subject))];
  }

  /** Tells the change feed, when the running transaction commits. */
  change(change: RecordChange): void {
    this.running().changes.push(change);
  }

  /** Writes something in the running transaction whose outcome nobody asks for; a refusal fails the unit of work. */
  send(statement: Statement, values: unknown[]): void {
    this.running().send(statement, values);
  }

  /**
   * Keeps a row for a statement that writes any number of them, the members of `json_to_recordset($1)`, each with its number
   * `n`. It is sent before what is asked next, and at the end: of one record, keep one row for a statement until then.
   */
  keep(statement: Statement, row: object): void {
    this.running().keep(statement, [row]);
  }

  /** Calls back once the running transaction has committed; at once outside of one. */
  afterCommit(callback: () => void): void {
    const unit = currentTransaction.current;
    if (unit instanceof RunningUnit) unit.afterCommit.push(callback);
    else callback();
  }

  /** Writes what was raised, audited and told so far: what follows in the unit sees it, and may change it. */
  recordNow(): void {
    this.record(this.running());
  }

  private record(unit: RunningUnit): void {
    unit.flush();
    const { events, audit, changes } = unit;
    if (events.length + audit.length + changes.length === 0) return;
    unit.send(RECORD, [...eventValues(events), changesValue(changes), ...auditValues(audit)]);
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
      // A refused statement makes PostgreSQL refuse the following ones: the first refusal is the cause.
      const refused = (await Promise.allSettled(sent)).find(isRejected);
      throw refused?.reason ?? error;
    } finally {
      await runner.release();
    }
    this.outbox.publish(unit.recorded);
    for (const callback of unit.afterCommit) callback();
    return result;
  }

  private running(): RunningUnit {
    const unit = currentTransaction.current;
    if (!(unit instanceof RunningUnit)) throw new Error('There is no running unit of work.');
    return unit;
  }
}

/** Returns the refusal of the command itself, or `MustBeAlone` after a fault of the transaction. */
function ownRefusal(error: unknown): unknown {
  const isFinal = error instanceof DomainError || (isDatabaseUnavailable(error) && !isTimedOut(error));
  return isFinal ? error : new MustBeAlone();
}

/** PostgreSQL has answered, and undone the transaction; 57P and 25P03 end the connection, when the COMMIT may have been done. */
function isPostgresRefusal(error: unknown): boolean {
  const { driverError = error } = error as { driverError?: unknown };
  return driverError instanceof DatabaseError && !/^(08|57P|25P03)/.test(driverError.code ?? '08');
}

function isRejected(answer: PromiseSettledResult<unknown>): answer is PromiseRejectedResult {
  return answer.status === 'rejected';
}
