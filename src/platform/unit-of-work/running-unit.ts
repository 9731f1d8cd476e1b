import type { PoolClient } from 'pg';
import type { QueryRunner } from 'typeorm';
import type { AuditEntry } from '../audit/audit-entry.js';
import type { RecordChange } from '../changes/change-log.js';
import { numbered } from '../database/batched.js';
import type { Statement, Transaction } from '../database/database.js';
import { send } from '../database/outdated-plans.js';
import type { DomainEvent } from '../events/domain-event.js';

/** A transaction that is running, with its buffered writes and its callbacks. */
export class RunningUnit implements Transaction {
  /** The results of sent statements that were not awaited yet. */
  readonly sent: Promise<unknown>[] = [];
  /** The buffered rows, by the statement that will write them. */
  readonly kept = new Map<Statement, object[]>();
  readonly events: DomainEvent[] = [];
  /** The events that were written, and that are published after COMMIT. */
  readonly recorded: DomainEvent[] = [];
  readonly audit: AuditEntry[] = [];
  readonly changes: RecordChange[] = [];
  readonly afterCommit: (() => void)[] = [];
  /** Whether COMMIT was sent. Without an answer to it, the outcome is unknown. */
  isCommitting = false;

  constructor(
    readonly runner: QueryRunner,
    readonly client: PoolClient,
  ) {}

  send(statement: Statement, values: unknown[]): void {
    const answer = send(this.client, statement, values, true);
    // This handler only prevents an unhandled rejection: the result is awaited at the end of the work.
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
    // Nothing to do: the write is rolled back with the transaction.
  }

  /** Adds the buffered rows of a command that shares this transaction. */
  take(part: RunningUnit): void {
    for (const [statement, rows] of part.kept) this.keep(statement, rows);
    this.events.push(...part.events);
    this.audit.push(...part.audit);
    this.changes.push(...part.changes);
    this.afterCommit.push(...part.afterCommit);
  }
}

/**
 * The part of one command in a shared transaction. Its writes are buffered, so that they can be discarded if the
 * command is refused.
 */
export class BatchedUnit extends RunningUnit {
  /**
   * Whether the command has already written to the database, which only a rollback of the whole transaction can undo.
   */
  hasWritten = false;

  /** @param claims for each key, the command that changes it in this transaction */
  constructor(
    host: RunningUnit,
    private readonly claims: Map<string, BatchedUnit>,
  ) {
    super(host.runner, host.client);
  }

  /**
   * Claims a key for this command.
   * @throws MustBeAlone when a different command in the transaction changes the same key
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

/** Thrown when a command cannot share its transaction with others. */
export class MustBeAlone extends Error {}
