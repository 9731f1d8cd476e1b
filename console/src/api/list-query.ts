import { infiniteQueryOptions, type QueryKey } from '@tanstack/react-query';
import type { Page } from './client';

/** The query key of a list, and the function that loads one page of the list. */
export interface ListSource<Row> {
  queryKey: QueryKey;
  load: (cursor: string | undefined, signal: AbortSignal) => Promise<Page<Row>>;
}

/**
 * Builds the query for the pages of a list. A component can also use this query to prefetch the first page before the
 * list is rendered.
 */
export function listQuery<Row>({ queryKey, load }: ListSource<Row>) {
  return infiniteQueryOptions({
    queryKey,
    queryFn: ({ pageParam, signal }) => load(pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next ?? undefined,
  });
}
