import { useEffect, useRef, useState } from 'react';
import type { Page } from '../api/client';
import { Button } from './button';
import { counted } from './counted';
import { csvText } from './csv-text';
import { toast } from './toast';

interface Props<Row> {
  name: string;
  columns: readonly { header: string; text: (row: Row) => string | number | null | undefined }[];
  load: (cursor: string | undefined, signal: AbortSignal) => Promise<Page<Row>>;
}

/**
 * The maximum number of rows in a CSV file. More rows would fill the page's memory. For more rows, the service offers
 * an export.
 */
const MOST_ROWS = 100_000;

/** Shows a button that loads every page of the list and saves the rows, with all columns, as a CSV file. */
export function CsvButton<Row>({ name, columns, load }: Props<Row>) {
  const [rows, setRows] = useState<number | null>(null);
  const leaving = useRef<AbortController>(null);
  useEffect(() => () => leaving.current?.abort(), []);

  async function save() {
    const { signal } = (leaving.current = new AbortController());
    const lines: (string | number | null | undefined)[][] = [columns.map(({ header }) => header)];
    let cursor: string | undefined;
    try {
      do {
        setRows(lines.length - 1);
        const page = await load(cursor, signal);
        for (const row of page.rows) lines.push(columns.map(({ text }) => text(row)));
        cursor = page.next ?? undefined;
      } while (cursor !== undefined && lines.length <= MOST_ROWS);
      download(`${name}.csv`, csvText(lines));
      const saved = lines.length - 1;
      const count = saved.toLocaleString('en');
      const cut =
        cursor === undefined
          ? ''
          : ` The file contains only the first ${count} rows. Narrow the filters to export the other rows.`;
      toast(`${counted(saved, 'row was', 'rows were')} saved in ${name}.csv.${cut}`);
    } catch (error) {
      if (!signal.aborted) toast(`The CSV file could not be created: ${(error as Error).message}`, 'bad');
    } finally {
      setRows(null);
    }
  }

  return (
    <Button small isPending={rows !== null} onPress={() => void save()}>
      {rows === null ? 'CSV' : `CSV: ${rows.toLocaleString('en')} …`}
    </Button>
  );
}

export function download(name: string, text: string, type = 'text/csv'): void {
  downloadFile(name, new Blob([text], { type: `${type};charset=utf-8` }));
}

export function downloadFile(name: string, file: Blob): void {
  const address = URL.createObjectURL(file);
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
