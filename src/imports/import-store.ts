import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Database, MACHINE_TIME } from '../platform/database/database.js';
import { Secrets } from '../platform/secrets.js';
import { isUuid } from '../platform/validation/identifiers.js';
import { Import } from './import.entity.js';
import {
  ADD_CHUNK,
  CHUNK_ROWS,
  CLAIM,
  CLOSE,
  DISCARD,
  DONE,
  END,
  FIND,
  FIND_LOST,
  OUTCOMES,
  RECEIVING_LEASE,
  RECORD,
  RELEASE,
  REMOVE_OLD,
  REMOVE_UNDONE,
  STATE,
  WAITING,
} from './import-statements.js';
import { ENDING, type Ending, type ImportState } from './imports.rules.js';
import type { Outcome, RowOutcome, WaitingRow } from './imports.rules.js';

const FIRST_ID = '00000000-0000-0000-0000-000000000000';

export type NewImport = Pick<
  Import,
  | 'import_id'
  | 'account_code'
  | 'dry_run'
  | 'username'
  | 'consumer_key'
  | 'scopes'
  | 'request_id'
  | 'received_datetime'
  | 'idempotency_key'
  | 'file_name'
>;

interface NewChunk {
  readonly chunk: number;
  readonly firstRow: number;
  readonly rows: readonly WaitingRow[];
  readonly columns: readonly string[] | null;
}

/** An import whose next chunk this process has claimed. */
export type ClaimedImport = Import & { lease_token: string };

/** A chunk of rows of an import. The rows have not been processed yet. */
interface WaitingChunk {
  import_id: string;
  chunk: number;
  rows: WaitingRow[];
  columns: string[] | null;
}

/** A chunk of rows of an import. The rows have been processed. */
interface DoneChunk {
  import_id: string;
  chunk: number;
  outcomes: RowOutcome[];
}

/** Stores imports and their rows. Only this class decrypts the rows. */
@Injectable()
export class ImportStore {
  constructor(
    private readonly database: Database,
    private readonly secrets: Secrets,
  ) {}

  async begin(fresh: NewImport): Promise<void> {
    await this.database.execute(
      {
        text: `INSERT INTO eligibility_imports
                 (import_id, account_code, dry_run, username, consumer_key, scopes, request_id, received_datetime, idempotency_key,
                  file_name, state, leased_until)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 'RECEIVING', ${MACHINE_TIME} + ${RECEIVING_LEASE})`,
      },
      [
        fresh.import_id,
        fresh.account_code,
        fresh.dry_run,
        fresh.username,
        fresh.consumer_key,
        fresh.scopes,
        fresh.request_id,
        fresh.received_datetime,
        fresh.idempotency_key,
        fresh.file_name,
      ],
    );
  }

  /** Adds a chunk of rows to an import. Returns false if the import has ended in the meantime. */
  async addChunk(id: string, { chunk, firstRow, rows, columns }: NewChunk): Promise<boolean> {
    const values = [id, chunk, firstRow, this.seal(rows, id, chunk), columns];
    return (await this.database.execute(ADD_CHUNK, values)) === 1;
  }

  /**
   * Marks the body as complete, after which workers may claim the import. Returns false if the import has ended in the
   * meantime.
   */
  async close(id: string, rows: number, columns: readonly string[] | null, now: Date): Promise<boolean> {
    return (await this.database.execute(CLOSE, [id, rows, now, columns])) === 1;
  }

  async stateOf(id: string): Promise<ImportState | null> {
    return (await this.database.queryOne<Pick<Import, 'state'>>(STATE, [id]))?.state ?? null;
  }

  async discard(id: string): Promise<void> {
    await this.database.execute(DISCARD, [id]);
  }

  /**
   * Selects the account that has waited longest. Of this account's imports, claims the import that has waited longest.
   * Returns null if no import waits.
   */
  claim(now: Date): Promise<ClaimedImport | null> {
    return this.database.queryOne<ClaimedImport>(CLAIM, [randomUUID(), now]);
  }

  /**
   * Returns the rows of the claimed import's next chunks, which are locked in the current transaction. Returns an empty
   * list if the import has been aborted.
   */
  async rowsOf({ import_id: id, next_chunk: from }: ClaimedImport, most: number): Promise<WaitingRow[][]> {
    const chunks = await this.database.query<{ chunk: number; rows: Buffer | null }>(CHUNK_ROWS, [id, from, most]);
    return chunks.flatMap(({ chunk, rows }) => (rows === null ? [] : [this.open(rows, id, chunk)]));
  }

  /**
   * Stores the outcomes of the chunks' rows and deletes the rows, in the current transaction. Returns false if the
   * lease was lost or the import was aborted; the transaction must then be rolled back.
   */
  async record(claimed: ClaimedImport, chunks: readonly RowOutcome[][], now: Date): Promise<boolean> {
    const outcomes = chunks.flat();
    const count = (wanted: Outcome) => outcomes.filter(([outcome]) => outcome === wanted).length;
    const written = await this.database.execute(RECORD, [
      claimed.import_id,
      claimed.lease_token,
      claimed.next_chunk,
      outcomes.length,
      count('CREATED'),
      count('UPDATED'),
      count('CANCELLED'),
      count('REFUSED'),
      now,
      chunks.map((chunk) => JSON.stringify(chunk)),
      count('UNCHANGED'),
    ]);
    return written === chunks.length;
  }

  /** Releases the claim on the import. Its next chunk stays unprocessed. */
  async release(claimed: ClaimedImport): Promise<void> {
    await this.database.execute(RELEASE, [claimed.import_id, claimed.lease_token]);
  }

  /**
   * Ends the import and returns it. Returns null if the import had already ended. Call {@link removeUndone} after the
   * transaction to delete the unprocessed rows.
   */
  end(id: string, ending: Ending, now: Date): Promise<Import | null> {
    return this.database.queryOne<Import>(END, [id, ENDING[ending], now, ending]);
  }

  /** Deletes the unprocessed rows of recently ended imports, including those that a crash left behind. */
  async removeUndone(now: Date): Promise<void> {
    await this.database.execute(REMOVE_UNDONE, [now]);
  }

  /** Returns the ids of imports whose receiving process has crashed. */
  async findLost(): Promise<string[]> {
    return (await this.database.query<{ import_id: string }>(FIND_LOST)).map((row) => row.import_id);
  }

  /** Deletes one of the imports that ended before the given time; returns false if there is none. */
  async removeOld(before: Date): Promise<boolean> {
    return (await this.database.execute(REMOVE_OLD, [before])) === 1;
  }

  /**
   * Yields the unprocessed chunks of an account.
   * @param lock whether the chunks stay locked until the transaction ends
   */
  async *waiting(accountCode: string, lock: boolean): AsyncIterable<WaitingChunk> {
    let last = { import_id: FIRST_ID, chunk: -1 };
    for (;;) {
      const chunks = await this.database.query<Omit<WaitingChunk, 'rows'> & { rows: Buffer }>(
        { text: lock ? `${WAITING} FOR UPDATE OF waiting` : WAITING },
        [accountCode, last.import_id, last.chunk],
      );
      for (const { import_id, chunk, rows, columns } of chunks)
        yield { import_id, chunk, rows: this.open(rows, import_id, chunk), columns };
      if (chunks.length === 0) return;
      last = chunks.at(-1)!;
    }
  }

  async replaceRows({ import_id, chunk }: WaitingChunk, rows: readonly WaitingRow[]): Promise<void> {
    await this.database.execute(
      { text: 'UPDATE eligibility_import_chunks SET rows = $3 WHERE import_id = $1 AND chunk = $2' },
      [import_id, chunk, this.seal(rows, import_id, chunk)],
    );
  }

  /** Yields the processed chunks of an account's imports. */
  async *done(accountCode: string): AsyncIterable<DoneChunk> {
    let last = { import_id: FIRST_ID, chunk: -1 };
    for (;;) {
      const chunks = await this.database.query<DoneChunk>(DONE, [accountCode, last.import_id, last.chunk]);
      yield* chunks;
      if (chunks.length === 0) return;
      last = chunks.at(-1)!;
    }
  }

  async replaceOutcomes({ import_id, chunk }: DoneChunk, outcomes: readonly RowOutcome[]): Promise<void> {
    await this.database.execute(
      { text: 'UPDATE eligibility_import_chunks SET outcomes = $3 WHERE import_id = $1 AND chunk = $2' },
      [import_id, chunk, JSON.stringify(outcomes)],
    );
  }

  /** Returns the file name of each import of the account that has a file name. */
  fileNames(accountCode: string): Promise<{ import_id: string; file_name: string }[]> {
    return this.database.query(
      {
        text: 'SELECT import_id, file_name FROM eligibility_imports WHERE account_code = $1 AND file_name IS NOT NULL',
      },
      [accountCode],
    );
  }

  async replaceFileNames(accountCode: string, ids: readonly string[], name: string): Promise<void> {
    await this.database.execute(
      {
        text: 'UPDATE eligibility_imports SET file_name = $3 WHERE account_code = $1 AND import_id = ANY ($2::uuid[])',
      },
      [accountCode, ids, name],
    );
  }

  async find(accountCode: string, id: string): Promise<Import | null> {
    return isUuid(id) ? this.database.queryOne<Import>(FIND, [id, accountCode]) : null;
  }

  /** Returns the outcomes of the rows that have been processed, in the order of the file. */
  outcomes(
    id: string,
    after: number,
    take: number,
  ): Promise<{ chunk: number; first_row: number; outcomes: RowOutcome[] }[]> {
    return this.database.query(OUTCOMES, [id, after, take]);
  }

  private seal(rows: readonly WaitingRow[], id: string, chunk: number): Buffer {
    return this.secrets.encrypt(JSON.stringify(rows), purposeOf(id, chunk));
  }

  private open(sealed: Buffer, id: string, chunk: number): WaitingRow[] {
    return JSON.parse(this.secrets.decrypt(sealed, purposeOf(id, chunk)).toString('utf8')) as WaitingRow[];
  }
}

const purposeOf = (id: string, chunk: number) => `eligibility_import_chunks.rows ${id} ${chunk}`;
