import type { PoolClient } from 'pg';
import type { QueryRunner } from 'typeorm';
import type { AuditEntry } from '../audit/audit-entry.js';
import type { RecordChange } from '../changes/change-log.js';
import { numbered } from '../database/batched.js';
import type { Statement, Transaction } from '../database/database.js';
import type { DomainEvent } from '../events/domain-event.js';

/** The running transaction, its buffered writes, and its callbacks. */
export class RunningUnit implements Transaction {
  /** Results that have not been awaited yet. */
  readonly sent: Promise<unknown>[] = [];
  /** Buffered rows by statement. */
  readonly kept = new Map<Statement, object[]>();
  readonly events: DomainEvent[] = [];
  /** Events that are written and will be published after COMMIT. */
  readonly recorded: DomainEvent[] = [];
  readonly audit: AuditEntry[] = [];
  readonly changes: RecordChange[] = [];
  readonly afterCommit: (() => void)[] = [];
  /** COMMIT has been sent: without an answer, the outcome is unknown. */
  isCommitting = false;

  constructor(
    readonly runner: QueryRunner,
    readonly client: PoolClient,
  ) {}

  send(statement: Statement, values: unknown[]): void {
    const answer = this.client.query({ ...statement, values });
    // The result is awaited at the end of the work.
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
    // Rolled back with the transaction.
  }

  /** Adds the buffered rows of a joined unit. */
  take(guest: RunningUnit): void {
    for (const [statement, rows] of guest.kept) this.keep(statement, rows);
    this.events.push(...guest.events);
    this.audit.push(...guest.audit);
    this.changes.push(...guest.changes);
    this.afterCommit.push(...guest.afterCommit);
  }
}

/** The part of one command in a shared transaction. Its writes are buffered, so that a refusal discards them. */
export class GuestUnit extends RunningUnit {
  /** It has written to the database: only a rollback of the whole transaction undoes it. */
  hasWritten = false;

  /** @param claims the keys that each joined unit changes in the transaction */
  constructor(
    host: RunningUnit,
    private readonly claims: Map<string, GuestUnit>,
  ) {
    super(host.runner, host.client);
  }

  /** @throws MustBeAlone when another joined unit changes the same key */
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
