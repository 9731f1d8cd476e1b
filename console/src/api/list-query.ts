import { infiniteQueryOptions, type QueryKey } from '@tanstack/react-query';
import type { Page } from './client';

/** A list that is loaded page by page: its query key, and the function that loads a page. */
export interface ListSource<Row> {
  queryKey: QueryKey;
  load: (cursor: string | undefined, signal: AbortSignal) => Promise<Page<Row>>;
}

/**
 * Builds the query for the pages of a list. With this query, a page of the console can prefetch the first part of the
 * list before the list is rendered.
 */
export function listQuery<Row>({ queryKey, load }: ListSource<Row>) {
  return infiniteQueryOptions({
    queryKey,
    queryFn: ({ pageParam, signal }) => load(pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next ?? undefined,
  });
}
