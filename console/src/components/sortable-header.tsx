import type { Sort } from './sort';

interface Props {
  column: { id: string; header: string; kind?: string; text?: unknown };
  sort: Sort | null;
  choose: (sort: Sort | null) => void;
}

/**
 * Shows the header of a column. Each press on the header changes the order of the rows, first to ascending, then to
 * descending, then to the original order.
 */
export function SortableHeader({ column: { id, header, kind, text }, sort, choose }: Props) {
  const by = sort?.id === id ? sort.by : undefined;
  const next = by === undefined ? 'ascending' : by === 'ascending' ? 'descending' : null;
  return (
    <th role="columnheader" scope="col" className={kind} aria-sort={by}>
      {text === undefined ? (
        header
      ) : (
        <button type="button" className="sort" onClick={() => choose(next && { id, by: next })}>
          {header}
          <span aria-hidden="true">{by === undefined ? '' : by === 'ascending' ? ' ↑' : ' ↓'}</span>
        </button>
      )}
    </th>
  );
}
