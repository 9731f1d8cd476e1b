import type { PoolClient } from 'pg';
import type { QueryRunner } from 'typeorm';
import type { AuditEntry } from '../audit/audit-entry.js';
import type { RecordChange } from '../changes/change-log.js';
import { numbered } from '../database/batched.js';
import type { Statement, Transaction } from '../database/database.js';
import { send } from '../database/outdated-plans.js';
import type { DomainEvent } from '../events/domain-event.js';

/** A database transaction that is running, with its buffered writes and its callbacks. */
export class RunningUnit implements Transaction {
  /** The results of the statements that were sent and not yet awaited. */
  readonly sent: Promise<unknown>[] = [];
  /** The buffered rows, grouped by the statement that will write them. */
  readonly kept = new Map<Statement, object[]>();
  readonly events: DomainEvent[] = [];
  /** The events that were written in the transaction, and that will be published after COMMIT. */
  readonly recorded: DomainEvent[] = [];
  readonly audit: AuditEntry[] = [];
  readonly changes: RecordChange[] = [];
  readonly afterCommit: (() => void)[] = [];
  /** Whether COMMIT was sent. Until the database responds, the result of the transaction is unknown. */
  isCommitting = false;

  constructor(
    readonly runner: QueryRunner,
    readonly client: PoolClient,
  ) {}

  send(statement: Statement, values: unknown[]): void {
    const answer = send(this.client, statement, values, true);
    // The empty error handler only prevents an unhandled rejection. The result of a sent statement is awaited at the
    // end of the transaction.
    answer.catch(() => undefined);
    this.sent.push(answer);
  }

  keep(statement: Statement, rows: readonly object[]): void {
    const kept = this.kept.get(statement);
    if (kept) kept.push(...rows);
    else this.kept.set(statement, [...rows]);
  }

  flush(): void {
    for (const [statement, rows] of this.kept) this.send(statement, numbered(rows));
    this.kept.clear();
  }

  writes(): void {
    // The transaction of a single command need not note its writes, because a refusal rolls the whole transaction back.
  }

  /** Adds the buffered rows of one command to the transaction, which several commands share. */
  take(part: RunningUnit): void {
    for (const [statement, rows] of part.kept) this.keep(statement, rows);
    this.events.push(...part.events);
    this.audit.push(...part.audit);
    this.changes.push(...part.changes);
    this.afterCommit.push(...part.afterCommit);
  }
}

/**
 * The part of one command in a shared transaction. The writes of the command are buffered, so that they can be
 * discarded if the command is refused.
 */
export class BatchedUnit extends RunningUnit {
  /**
   * Whether the command has already written to the database. Only a rollback of the whole transaction can undo such a
   * write.
   */
  hasWritten = false;

  /**
   * @param claims the keys that the commands in this transaction have claimed, each with the command that changes it
   */
  constructor(
    host: RunningUnit,
    private readonly claims: Map<string, BatchedUnit>,
  ) {
    super(host.runner, host.client);
  }

  /**
   * Claims a key for this command, so that no other command in the shared transaction changes the same record.
   * @throws MustBeAlone when a different command in the transaction has claimed the key
   */
  claim(key: string): void {
    const holder = this.claims.get(key);
    if (holder && holder !== this) throw new MustBeAlone();
    this.claims.set(key, this);
  }

  override send(): void {
    throw new MustBeAlone();
  }

  override writes(): void {
    this.hasWritten = true;
  }
}

/** Thrown when a command cannot share its database transaction with other commands. */
export class MustBeAlone extends Error {}
