import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import { listQuery, type ListSource } from '../api/list-query';
import { Button } from './button';
import { Loading, ProblemNote, StaleNote } from './states';
import { Table, type TableProps } from './table';

interface Props<Row> extends Omit<TableProps<Row>, 'rows' | 'list' | 'count' | 'load'>, ListSource<Row> {}

/** A list of the API, page by page, with a choice of its columns and a CSV of all that fits. */
export function List<Row extends object>({ queryKey, load, ...table }: Props<Row>) {
  const query = useInfiniteQuery({
    ...listQuery({ queryKey, load }),
    // A changed filter leaves the rows where they are until the new ones have come.
    placeholderData: keepPreviousData,
  });
  const { fetchNextPage, hasNextPage, isFetching, isError } = query;
  // A renewal of the list ends what is asked for at the same time: the next page is asked for again after it.
  const key = JSON.stringify(queryKey);
  const [wanted, setWanted] = useState({ key, pages: 1 });
  const pages = query.data?.pages.length ?? 0;
  const isWaiting = wanted.key === key && pages < wanted.pages && hasNextPage && !isError;
  useEffect(() => {
    if (isWaiting && !isFetching) void fetchNextPage();
  }, [isWaiting, isFetching, fetchNextPage]);
  const rows = useMemo(() => query.data?.pages.flatMap((page) => page.rows) ?? [], [query.data]);
  if (query.data === undefined)
    return query.isError ? <ProblemNote error={query.error} retry={() => void query.refetch()} /> : <Loading />;
  return (
    <div className={query.isPlaceholderData ? 'list waiting' : 'list'} aria-busy={query.isFetching}>
      <Table
        {...table}
        rows={rows}
        // The rows of before belong to no filter of now: those that come are of another list.
        list={query.isPlaceholderData ? '' : key}
        load={load}
        count={query.hasNextPage ? `${rows.length.toLocaleString('en')} shown, there are more` : undefined}
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
