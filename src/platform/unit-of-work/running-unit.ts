import type { PoolClient } from 'pg';
import type { QueryRunner } from 'typeorm';
import type { AuditEntry } from '../audit/audit-entry.js';
import type { RecordChange } from '../changes/change-log.js';
import { numbered } from '../database/batched.js';
import type { Statement, Transaction } from '../database/database.js';
import type { DomainEvent } from '../events/domain-event.js';

/** The running transaction and what it will write and do at its end. */
export class RunningUnit implements Transaction {
  /** Answers that nobody has waited for yet. */
  readonly sent: Promise<unknown>[] = [];
  /** Rows to be written, of each statement. */
  readonly kept = new Map<Statement, object[]>();
  readonly events: DomainEvent[] = [];
  /** Events that are written, to be published after COMMIT. */
  readonly recorded: DomainEvent[] = [];
  readonly audit: AuditEntry[] = [];
  readonly changes: RecordChange[] = [];
  readonly afterCommit: (() => void)[] = [];
  /** COMMIT is on its way: what is heard no more may have happened. */
  isCommitting = false;

  constructor(
    readonly runner: QueryRunner,
    readonly client: PoolClient,
  ) {}

  send(statement: Statement, values: unknown[]): void {
    const answer = this.client.query({ ...statement, values });
    // Looked at when the work is done, which may be later.
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
    // It is undone with the transaction.
  }

  /** Takes over the rows that a joined unit has kept. */
  take(guest: RunningUnit): void {
    for (const [statement, rows] of guest.kept) this.keep(statement, rows);
    this.events.push(...guest.events);
    this.audit.push(...guest.audit);
    this.changes.push(...guest.changes);
    this.afterCommit.push(...guest.afterCommit);
  }
}

/** The part of one command in a transaction that several share: it keeps, so that leaving it undoes it. */
export class GuestUnit extends RunningUnit {
  /** It has written at once: it leaves with the transaction alone. */
  hasWritten = false;

  /** @param claims of the transaction: who changes what */
  constructor(
    host: RunningUnit,
    private readonly claims: Map<string, GuestUnit>,
  ) {
    super(host.runner, host.client);
  }

  /** @throws MustBeAlone when another joined unit changes it */
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

/** A command cannot share its transaction with others. */
export class MustBeAlone extends Error {}
