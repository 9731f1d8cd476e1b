import { Injectable } from '@nestjs/common';
import { Secrets } from '../secrets.js';
import { acrossAccounts, Database } from './database.js';

const PAGE = 200;
const PASSES = 3;

/**
 * A table with encrypted columns. For each column, a function takes a row and returns the `purpose` with which the
 * row's value was encrypted.
 */
export interface EncryptedTable {
  /** The name of the table with encrypted columns. The module that owns the table registers it. */
  readonly table: string;
  /** The names of the columns of the table's primary key. */
  readonly key: readonly string[];
  readonly columns: Readonly<Record<string, (row: Record<string, unknown>) => string>>;
}

/**
 * Re-encrypts stored values under the newest key of `SECRETS_KEY`: table by table, in the order of each primary key,
 * value by value.
 *
 * A pass can be stopped and restarted at any time, because values under the newest key are skipped. A value that
 * changes during a pass is left to the next pass. Modules register their tables when they start.
 */
@Injectable()
export class EncryptedColumns {
  private readonly tables: EncryptedTable[] = [];

  constructor(
    private readonly database: Database,
    private readonly secrets: Secrets,
  ) {}

  add(table: EncryptedTable): void {
    this.tables.push(table);
  }

  /**
   * Re-encrypts the values of all registered tables.
   * @param report receives, for each table, the number of values that were re-encrypted
   * @returns the number of values that are still encrypted under an older key
   * @throws Error when no key of `SECRETS_KEY` decrypts a value
   */
  async reencrypt(report: (table: string, values: number) => void): Promise<number> {
    let left = 0;
    for (const table of this.tables) {
      let done = 0;
      for (let pass = 1; pass <= PASSES; pass++) {
        const { changed, missed } = await this.pass(table);
        done += changed;
        left = pass === PASSES ? left + missed : left;
        if (missed === 0) break;
      }
      report(table.table, done);
    }
    return left;
  }

  private async pass({ table, key, columns }: EncryptedTable): Promise<{ changed: number; missed: number }> {
    const keys = key.join(', ');
    const stale = Object.keys(columns).map(
      (column) =>
        `(${column} IS NOT NULL AND substring(${column} FROM 1 FOR ${this.secrets.newest.length}) <> $1) AS ${column}`,
    );
    let changed = 0;
    let missed = 0;
    let last: unknown[] | null = null;
    for (;;) {
      const after = last && `WHERE (${keys}) > (${last.map((_, at) => `$${at + 2}`).join(', ')})`;
      const page: Record<string, unknown>[] = await this.database.query(
        {
          text: [`SELECT ${keys}, ${stale.join(', ')} FROM`, table, after, `ORDER BY ${keys} LIMIT ${PAGE}`].join(' '),
          across: acrossAccounts.sweep,
        },
        [this.secrets.newest, ...(last ?? [])],
      );
      for (const row of page)
        for (const [column, purpose] of Object.entries(columns))
          if (row[column] === true) {
            if (await this.renew(table, key, row, column, purpose(row))) changed++;
            else missed++;
          }
      if (page.length < PAGE) return { changed, missed };
      last = key.map((name) => page.at(-1)![name]);
    }
  }

  private async renew(
    table: string,
    key: readonly string[],
    row: Record<string, unknown>,
    column: string,
    purpose: string,
  ): Promise<boolean> {
    const values = key.map((name) => row[name]);
    const where = key.map((name, at) => `${name} = $${at + 1}`).join(' AND ');
    const found = await this.database.queryOne<{ value: Buffer | null }>(
      { text: [`SELECT ${column} AS value FROM`, table, `WHERE ${where}`].join(' '), across: acrossAccounts.sweep },
      values,
    );
    // If the row with the encrypted value was deleted in the meantime, nothing is left to re-encrypt.
    if (!found?.value) return true;
    const renewed = this.secrets.encrypt(this.secrets.decrypt(found.value, purpose), purpose);
    const set = `SET ${column} = $${key.length + 1} WHERE ${where} AND ${column} = $${key.length + 2}`;
    const text = ['UPDATE', table, set].join(' ');
    return (
      (await this.database.execute({ text, across: acrossAccounts.sweep }, [...values, renewed, found.value])) === 1
    );
  }
}
