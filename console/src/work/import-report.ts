import { api, type Schemas } from '../api/client';
import { download } from '../components/list-csv';
import { toast } from '../components/toast';
import { cellsOf, rowsOf } from './csv-rows';

type Import = Pick<Schemas['ListedImportModel'], 'import_id' | 'account_code'>;

/** An error in a refused row. */
export interface RefusedRow {
  key: string;
  line: number;
  candidate: string;
  test: string;
  code: string;
  detail: string;
  column: string;
  value: string;
}

/** The maximum number of errors that a page shows. */
export const MOST_SHOWN = 1000;

/** Loads the report about the refused rows as text. */
async function loadRefused({ import_id, account_code }: Import, signal?: AbortSignal): Promise<string> {
  const answer = await api.GET('/accounts/{account_code}/eligibility-imports/{import_id}/report', {
    params: { path: { account_code, import_id }, query: { outcome: 'REFUSED' } },
    parseAs: 'text',
    signal,
  });
  return String(answer.data).replace(/^\ufeff/, '');
}

/** Returns the errors of the refused rows, at most {@link MOST_SHOWN}. */
export async function refusedRows(of: Import, signal: AbortSignal): Promise<RefusedRow[]> {
  const [head, ...rows] = rowsOf(await loadRefused(of, signal), true);
  const names = cellsOf(head.text);
  return rows.slice(0, MOST_SHOWN).map(({ text }, index) => {
    const cells = cellsOf(text);
    const cell = (name: string) => cells[names.indexOf(name)] ?? '';
    return {
      key: String(index),
      line: Number(cell('line')),
      candidate: cell('candidate_id'),
      test: cell('test_code'),
      code: cell('code'),
      detail: cell('detail'),
      column: cell('column') || cell('pointer'),
      value: cell('value'),
    };
  });
}

/** Returns the numbers of the lines at which refused rows begin. */
export async function refusedLines(of: Import): Promise<ReadonlySet<number>> {
  const [head, ...rows] = rowsOf(await loadRefused(of), true);
  const place = cellsOf(head.text).indexOf('line');
  return new Set(rows.map(({ text }) => Number(cellsOf(text)[place])));
}

/** Saves the whole report as a CSV file. */
export async function saveReport({ import_id, account_code }: Import): Promise<void> {
  try {
    const answer = await api.GET('/accounts/{account_code}/eligibility-imports/{import_id}/report', {
      params: { path: { account_code, import_id } },
      parseAs: 'text',
    });
    download(`import-${import_id}.csv`, String(answer.data));
  } catch (error) {
    toast(`The report could not be loaded: ${(error as Error).message}`, 'bad');
  }
}
