import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../../src/schema';
import { cloneDatabase } from '../support/database';

/**
 * The file that states how an erasure treats each column. K means that the column is kept, because it contains no data
 * about a candidate. P means that a pseudonym or a word replaces the value. R means that the value is removed. A table
 * that is listed without columns contains no data about candidates.
 */
const COLUMNS = readFileSync(join(__dirname, 'privacy-columns.txt'), 'utf8');

function declared(): Map<string, string> {
  const columns = new Map<string, string>();
  for (const line of COLUMNS.split('\n').filter((text) => text !== '' && !text.startsWith('#'))) {
    const [table, ...rest] = line.split(/\s+/);
    if (rest.length === 0) columns.set(table, 'K');
    for (const entry of rest) {
      const [column, treatment] = entry.split(':');
      columns.set(`${table}.${column}`, treatment);
    }
  }
  return columns;
}

describe('the list of columns with personal data', () => {
  it('privacy-columns.txt says for every column of the schema how an erasure treats its values', async () => {
    const database = await cloneDatabase();
    const dataSource = await new DataSource(dataSourceOptions(database.url, 1)).initialize();
    try {
      const rows = await dataSource.query<{ name: string; table: string }[]>(
        `SELECT c.relname AS table, c.relname || '.' || attname AS name FROM pg_attribute
         JOIN pg_class c ON c.oid = attrelid
         WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
           AND attnum > 0 AND NOT attisdropped AND relname <> 'migrations' ORDER BY 1, 2`,
      );
      const known = declared();
      expect([...known.values()].filter((treatment) => !['K', 'P', 'R'].includes(treatment))).toEqual([]);
      expect(rows.filter(({ name, table }) => !known.has(name) && !known.has(table)).map(({ name }) => name)).toEqual(
        [],
      );
      const present = new Set(rows.flatMap(({ name, table }) => [name, table]));
      expect([...known.keys()].filter((name) => !present.has(name))).toEqual([]);
    } finally {
      await dataSource.destroy();
      await database.drop();
    }
  });
});
