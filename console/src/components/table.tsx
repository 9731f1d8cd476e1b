import {
  columnVisibilityFeature,
  rowSelectionFeature,
  tableFeatures,
  useTable,
  type ColumnDef,
  type ColumnVisibilityState,
  type RowSelectionState,
} from '@tanstack/react-table';
import { memo, useCallback, useEffect, useMemo, useRef, useState, type ReactNode } from 'react';
import { AccountName } from './account-name';
import type { Page } from '../api/client';
import { Badge } from './badge';
import { Code } from './code';
import { Copyable } from './copy';
import { counted } from './counted';
import { ColumnChoice, keepChoice, keptChoice } from './list-columns';
import { CsvButton } from './list-csv';
import type { Items } from './items';
import { useMoreRows } from './more-rows';
import { Empty } from './states';
import { SortableHeader } from './sortable-header';
import { sortedBy, type Sort } from './sort';
import { HeldNote, useSteady } from './steady';
import { Time } from './time';

export type Column<Row> = {
  id: string;
  header: string;
  kind?: 'main' | 'number';
  /** Whether the column is hidden until the user chooses it. */
  hidden?: boolean;
} & (TextColumn<Row> | DeedColumn<Row>);

interface TextColumn<Row> {
  /** Returns the text of the column in the CSV file. The cell has the same text unless `cell` replaces it. */
  text: (row: Row) => string | number | null | undefined;
  /**
   * The format in which the cell shows the text; plain text by default. `time` and `exact` show a time from the API;
   * `exact` includes the seconds. `id` adds a copy button. `badge` shows a state. `account` shows the name of an
   * account and its code.
   */
  as?: 'time' | 'exact' | 'name' | 'code' | 'id' | 'badge' | 'account';
  /** Renders the column's cell. It is needed only if the cell shows more than the text. */
  cell?: (row: Row) => ReactNode;
}

/** A column with buttons for actions on the row. The CSV file does not contain this column. */
interface DeedColumn<Row> {
  text?: undefined;
  cell: (row: Row) => ReactNode;
}

interface Selection {
  rows: RowSelectionState;
  onChange: (rows: RowSelectionState) => void;
  /** The verb that begins the label of each checkbox; the key of the row follows. */
  label: string;
}

export interface TableProps<Row> {
  /** The name of the table's CSV file. The browser stores the user's choice of columns under the same name. */
  name: string;
  caption: ReactNode;
  columns: readonly Column<Row>[];
  rowKey: (row: Row) => string;
  rows: readonly Row[];
  /** The key of the list. If the key changes, for example because the filter changes, the rows count as a new list. */
  list?: string;
  empty: ReactNode;
  /** Whether an empty list is good news, such as an empty error queue. */
  emptyIsGood?: boolean;
  selection?: Selection;
  /** The items that the rows open beside the list. */
  items?: Items<Row>;
  /** The id of the item that is open beside the list. */
  opened?: string;
  /** The text that is shown instead of the number of rows. */
  count?: string;
  /** Loads a page of the list for the CSV file; required if `rows` does not contain all rows of the list. */
  load?: (cursor: string | undefined, signal: AbortSignal) => Promise<Page<Row>>;
  /** Loads more rows when the user sorts the table; needed if `rows` does not contain all rows of the list. */
  loadRest?: () => void;
}

const features = tableFeatures({ columnVisibilityFeature, rowSelectionFeature });
const NO_SELECTION: RowSelectionState = {};

/**
 * Shows rows as a table. The user can choose its columns and save the rows as a CSV file. In a narrow window, each row
 * is a card.
 */
export function Table<Row extends object>(props: TableProps<Row>) {
  const { name, caption, columns, rowKey, list, empty, emptyIsGood, selection, count, load, loadRest } = props;
  const [sort, setSort] = useState<Sort | null>(null);
  const sorted = useMemo(() => sortedBy(props.rows, columns, sort), [props.rows, columns, sort]);
  // Rows in a different order count as a new list, so they may move.
  const { rows, gone, frame, held } = useSteady(sorted, rowKey, sort === null ? list : `${list} ${sort.id} ${sort.by}`);
  const [visibility, setVisibility] = useState<ColumnVisibilityState>(() => keptChoice(name, columns));
  const known = useMemo(() => new Map(columns.map((column) => [column.id, column])), [columns]);
  const definitions = useMemo(
    () =>
      columns.map((column): ColumnDef<typeof features, Row> => ({
        id: column.id,
        header: column.header,
      })),
    [columns],
  );
  const table = useTable({
    features,
    columns: definitions,
    data: rows,
    getRowId: rowKey,
    state: { columnVisibility: visibility, rowSelection: selection?.rows ?? NO_SELECTION },
    onColumnVisibilityChange: (change) => {
      const next = typeof change === 'function' ? change(visibility) : change;
      keepChoice(name, next);
      setVisibility(next);
    },
    onRowSelectionChange: (change) =>
      selection?.onChange(typeof change === 'function' ? change(selection.rows) : change),
  });
  const shown = useMemo(() => columns.filter(({ id }) => visibility[id] !== false), [columns, visibility]);
  const choose = useChoose(selection);
  const most = useMoreRows(rows.length);
  return (
    <div ref={frame} className="list-frame" tabIndex={-1}>
      <div className="list-bar">
        <span className="hint" aria-live="polite">
          {held ? <HeldNote held={held} /> : (count ?? counted(rows.length, 'row', 'rows'))}
        </span>
        <ColumnChoice
          columns={table.getAllLeafColumns().map((column) => ({
            id: column.id,
            label: known.get(column.id)!.header,
            shown: column.getIsVisible(),
            show: (value) => column.toggleVisibility(value),
          }))}
        />
        <CsvButton
          name={name}
          columns={columns.filter((column) => column.text !== undefined)}
          load={load ?? (() => Promise.resolve({ rows: [...props.rows], next: null }))}
        />
      </div>
      {rows.length === 0 ? (
        <Empty good={emptyIsGood}>{empty}</Empty>
      ) : (
        <div className="table-frame">
          <table role="table" className="table">
            <caption>{caption}</caption>
            <thead role="rowgroup">
              {table.getHeaderGroups().map((group) => (
                <tr role="row" key={group.id}>
                  {selection && (
                    <th role="columnheader" className="select">
                      <input
                        type="checkbox"
                        aria-label="All rows shown"
                        checked={table.getIsAllRowsSelected()}
                        onChange={(event) => table.toggleAllRowsSelected(event.target.checked)}
                      />
                    </th>
                  )}
                  {group.headers.map((header) => (
                    <SortableHeader
                      key={header.id}
                      column={known.get(header.column.id)!}
                      sort={sort}
                      choose={(next) => {
                        setSort(next);
                        if (next !== null) loadRest?.();
                      }}
                    />
                  ))}
                </tr>
              ))}
            </thead>
            <tbody role="rowgroup">
              {table
                .getRowModel()
                .rows.slice(0, most)
                .map(({ id, original }) => (
                  <TableRow
                    key={id}
                    id={id}
                    row={original}
                    columns={shown}
                    label={selection?.label}
                    chosen={selection?.rows[id] ?? false}
                    choose={choose}
                    isGone={gone.has(id)}
                    item={props.items?.idOf(original)}
                    isOpen={props.opened !== undefined && props.items?.idOf(original) === props.opened}
                  />
                ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
  );
}

/**
 * Returns a function that selects or deselects a row. Every call returns the same function, so that the rows are not
 * rendered again.
 */
function useChoose(selection: Selection | undefined): (id: string, chosen: boolean) => void {
  const latest = useRef(selection);
  useEffect(() => {
    latest.current = selection;
  });
  return useCallback((id, chosen) => {
    const { [id]: _, ...others } = latest.current!.rows;
    latest.current!.onChange(chosen ? { ...others, [id]: true } : others);
  }, []);
}

interface RowProps<Row> {
  id: string;
  row: Row;
  /** The visible columns of the table. */
  columns: readonly Column<Row>[];
  /** The verb that begins the label of the row's checkbox; undefined when rows cannot be selected. */
  label: string | undefined;
  chosen: boolean;
  choose: (id: string, chosen: boolean) => void;
  /** Whether the row was removed and is only shown as a placeholder. */
  isGone: boolean;
  /** The id of the item that the row opens beside the list. */
  item: string | undefined;
  isOpen: boolean;
}

/**
 * Renders a row of a table. The component is memoized, because only a few rows change when a list grows or is
 * refreshed.
 */
const TableRow = memo(function TableRow<Row>(props: RowProps<Row>) {
  const { id, row, columns, label, chosen, choose, isGone, item, isOpen } = props;
  return (
    <tr
      role="row"
      className={isGone ? 'gone' : chosen ? 'selected' : undefined}
      data-item={item}
      aria-current={isOpen ? 'true' : undefined}
    >
      {label !== undefined && (
        <td role="cell" className="select">
          <input
            type="checkbox"
            aria-label={`${label} ${id}`}
            checked={chosen}
            onChange={(event) => choose(id, event.target.checked)}
          />
        </td>
      )}
      {columns.map((column) => (
        <td role="cell" key={column.id} className={column.kind} data-label={column.header}>
          {cellOf(column, row)}
        </td>
      ))}
    </tr>
  );
}) as <Row>(props: RowProps<Row>) => ReactNode;

function cellOf<Row>(column: Column<Row>, row: Row): ReactNode {
  if (column.text === undefined) return column.cell(row);
  const { text, as, cell } = column;
  if (cell) return cell(row);
  const value = text(row);
  if (value == null || value === '') return <span className="nothing">–</span>;
  switch (as) {
    case 'time':
      return <Time at={String(value)} />;
    case 'exact':
      return <Time at={String(value)} exact />;
    case 'name':
      return <bdi>{value}</bdi>;
    case 'code':
      return <Code>{String(value)}</Code>;
    case 'id':
      return <Copyable text={String(value)} />;
    case 'badge':
      return <Badge state={String(value)} />;
    case 'account':
      return <AccountName code={String(value)} />;
    case undefined:
      return value;
  }
}
