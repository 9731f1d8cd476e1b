import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { useEffect, useMemo, useState } from 'react';
import { listQuery, type ListSource } from '../api/list-query';
import type { Search } from '../router-search';
import { useHasAccountNames } from './account-options';
import { Beside } from './beside';
import { Button } from './button';
import { Loading, ProblemNote, StaleNote } from './states';
import { Table, type TableProps } from './table';

interface Props<Row>
  extends Omit<TableProps<Row>, 'rows' | 'list' | 'opened' | 'count' | 'load' | 'loadRest'>, ListSource<Row> {}

/**
 * Shows a list from the API page by page. The user can choose its columns, and save all matching rows as a CSV file. If
 * the list has `items`, each row opens its item beside the list.
 */
export function List<Row extends object>(props: Props<Row>) {
  const { items } = props;
  const { open }: Search = useSearch({ strict: false });
  if (items === undefined) return <Rows {...props} />;
  return (
    <Beside items={items} opened={open}>
      <Rows {...props} opened={open} />
    </Beside>
  );
}

function Rows<Row extends object>({ queryKey, load, ...table }: Props<Row> & { opened?: string }) {
  const query = useInfiniteQuery({
    ...listQuery({ queryKey, load }),
    // After the filter has changed, the old rows stay visible until the new rows arrive.
    placeholderData: keepPreviousData,
  });
  const { fetchNextPage, hasNextPage, isFetching, isError } = query;
  // A refetch of the list cancels a running fetch of the next page. The effect below then fetches the next page again.
  const key = JSON.stringify(queryKey);
  const [wanted, setWanted] = useState({ key, pages: 1 });
  const pages = query.data?.pages.length ?? 0;
  const isWaiting = wanted.key === key && pages < wanted.pages && hasNextPage && !isError;
  const isSorted = wanted.key === key && wanted.pages === MOST_SORTED_PAGES;
  useEffect(() => {
    if (isWaiting && !isFetching) void fetchNextPage();
  }, [isWaiting, isFetching, fetchNextPage]);
  const rows = useMemo(() => query.data?.pages.flatMap((page) => page.rows) ?? [], [query.data]);
  // The rows are shown only after the account names have arrived. Otherwise, the names would change the column widths.
  const hasNames = useHasAccountNames();
  if (query.data === undefined || !hasNames)
    return query.isError ? <ProblemNote error={query.error} retry={() => void query.refetch()} /> : <Loading />;
  return (
    <div className={query.isPlaceholderData ? 'list waiting' : 'list'} aria-busy={query.isFetching}>
      <Table
        {...table}
        rows={rows}
        // While the rows of the previous filter are still shown, the key is empty, so that the new rows count as a new
        // list. If the user has sorted the list, rows of the next page appear between the rows that are already shown.
        // Each page then changes the key.
        list={query.isPlaceholderData ? '' : isSorted ? `${key} ${pages}` : key}
        load={load}
        count={query.hasNextPage ? countText(rows.length, isSorted && !isWaiting) : undefined}
        loadRest={() => {
          if (query.hasNextPage) setWanted({ key, pages: MOST_SORTED_PAGES });
        }}
      />
      {query.hasNextPage && (
        <div className="actions">
          <Button
            isPending={isWaiting}
            onPress={() => {
              setWanted({ key, pages: pages + 1 });
              if (!isFetching) void fetchNextPage();
            }}
          >
            Show more
          </Button>
        </div>
      )}
      <StaleNote of={query} />
    </div>
  );
}

/**
 * The maximum number of pages that the browser loads in order to sort their rows. The service itself sorts rows only by
 * time.
 */
const MOST_SORTED_PAGES = 20;

function countText(shown: number, isSorted: boolean): string {
  const count = shown.toLocaleString('en');
  return isSorted
    ? `Only the first ${count} rows are sorted. Narrow the filters to sort all rows.`
    : `${count} shown, more available`;
}
