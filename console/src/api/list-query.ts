import { infiniteQueryOptions, type QueryKey } from '@tanstack/react-query';
import type { Page } from './client';

/** A query that loads a list page by page. */
export interface ListSource<Row> {
  queryKey: QueryKey;
  load: (cursor: string | undefined, signal: AbortSignal) => Promise<Page<Row>>;
}

/** Builds the query of a list's pages; a page can prefetch the first of them before the list is rendered. */
export function listQuery<Row>({ queryKey, load }: ListSource<Row>) {
  return infiniteQueryOptions({
    queryKey,
    queryFn: ({ pageParam, signal }) => load(pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next ?? undefined,
  });
}
