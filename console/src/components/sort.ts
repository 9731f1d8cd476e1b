import { once } from './once';

/** The sort order that the user chose for a table. `id` is the id of a column, and `by` is the direction. */
export interface Sort {
  id: string;
  by: 'ascending' | 'descending';
}

interface Sortable<Row> {
  id: string;
  text?: (row: Row) => string | number | null | undefined;
}

const TEXTS = once(() => new Intl.Collator('en', { numeric: true, sensitivity: 'base' }));

/** Returns the rows, sorted by the text of a column. In both directions, rows without text in this column are last. */
export function sortedBy<Row>(
  rows: readonly Row[],
  columns: readonly Sortable<Row>[],
  sort: Sort | null,
): readonly Row[] {
  const text = columns.find(({ id }) => id === sort?.id)?.text;
  if (sort === null || text === undefined) return rows;
  const sign = sort.by === 'ascending' ? 1 : -1;
  return rows
    .map((row) => [text(row) ?? '', row] as const)
    .toSorted(([one], [other]) => {
      if (one === '' || other === '') return Number(one === '') - Number(other === '');
      const isNumber = typeof one === 'number' && typeof other === 'number';
      return sign * (isNumber ? one - other : TEXTS().compare(String(one), String(other)));
    })
    .map(([, row]) => row);
}
