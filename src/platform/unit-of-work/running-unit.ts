import { DatabaseError, type PoolClient, type QueryResult } from 'pg';
import type { QueryRunner } from 'typeorm';
import type { AuditEntry } from '../audit/audit-entry.js';
import type { RecordChange } from '../changes/change-log.js';
import { numbered } from '../database/batched.js';
import { isDatabaseUnavailable, isTimedOut, type Statement, type Transaction } from '../database/database.js';
import { DomainError } from '../errors.js';
import { send } from '../database/statement-retries.js';
import type { DomainEvent } from '../events/domain-event.js';
import type { EventRow } from '../events/outbox.js';

/** A database transaction that is running, with its buffered writes and its callbacks. */
export class RunningUnit implements Transaction {
  /** The results of sent statements that have not been awaited yet. */
  readonly sent: Promise<unknown>[] = [];
  /** The buffered rows, grouped by the statement that will write them. */
  readonly kept = new Map<Statement, object[]>();
  readonly events: DomainEvent[] = [];
  /** The events that were written in the transaction, and that will be published after COMMIT. */
  readonly recorded: DomainEvent[] = [];
  /**
   * The results of the statements that wrote entries of the change feed. If a subscription listens to some of the
   * changes, the result contains the events that the statement also wrote to the outbox.
   */
  readonly told: Promise<QueryResult<EventRow>>[] = [];
  readonly audit: AuditEntry[] = [];
  readonly changes: RecordChange[] = [];
  readonly afterCommit: (() => void)[] = [];
  /** Whether COMMIT was sent. Until the database responds, the result of the transaction is unknown. */
  isCommitting = false;

  constructor(
    readonly runner: QueryRunner,
    readonly client: PoolClient,
  ) {}

  send<Row extends object>(statement: Statement, values: unknown[]): Promise<QueryResult<Row>> {
    const answer = send<Row>(this.client, statement, values, true);
    // This handler only prevents an unhandled rejection. The result of the statement is awaited at the end of the
    // transaction.
    answer.catch(() => undefined);
    this.sent.push(answer);
    return answer;
  }

  keep(statement: Statement, rows: readonly object[]): void {
    const kept = this.kept.get(statement);
    if (kept) kept.push(...rows);
    else this.kept.set(statement, [...rows]);
  }

  flush(): void {
    for (const [statement, rows] of this.kept) void this.send(statement, numbered(rows));
    this.kept.clear();
  }

  writes(): void {
    // A command with its own transaction need not record its writes, because a rollback of the transaction undoes them.
  }

  /** Adds the buffered rows of one command to this transaction, which several commands share. */
  take(part: RunningUnit): void {
    for (const [statement, rows] of part.kept) this.keep(statement, rows);
    this.events.push(...part.events);
    this.audit.push(...part.audit);
    this.changes.push(...part.changes);
    this.afterCommit.push(...part.afterCommit);
  }
}

/**
 * One command's part of a shared transaction. The writes of the command are buffered, so that they can be discarded if
 * the command is refused.
 */
export class BatchedUnit extends RunningUnit {
  /**
   * Whether the command has already written to the database. Only a rollback of the whole transaction can undo such a
   * write.
   */
  hasWritten = false;

  /**
   * Begins one command's part of a shared transaction.
   * @param claims the keys that commands in this transaction have claimed, each with the command that claimed it
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

  override send(): never {
    throw new MustBeAlone();
  }

  override writes(): void {
    this.hasWritten = true;
  }
}

/** Thrown when a command cannot share its database transaction with other commands. */
export class MustBeAlone extends Error {}

/** Returns the error of the command itself. If the shared transaction caused the error, returns `MustBeAlone`. */
export function ownRefusal(error: unknown): unknown {
  const isFinal = error instanceof DomainError || (isDatabaseUnavailable(error) && !isTimedOut(error));
  return isFinal ? error : new MustBeAlone();
}

/**
 * Returns whether the error proves that the transaction was rolled back. The errors 57P… and 25P03 prove nothing: they
 * end the connection, possibly after the COMMIT.
 */
export function isPostgresRefusal(error: unknown): boolean {
  const { driverError = error } = error as { driverError?: unknown };
  return driverError instanceof DatabaseError && !/^(08|57P|25P03)/.test(driverError.code ?? '08');
}

export function isRejected(answer: PromiseSettledResult<unknown>): answer is PromiseRejectedResult {
  return answer.status === 'rejected';
}
