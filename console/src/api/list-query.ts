import { infiniteQueryOptions, type QueryKey } from '@tanstack/react-query';
import type { Page } from './client';

/** The query of a list, page by page. */
export interface ListSource<Row> {
  queryKey: QueryKey;
  load: (cursor: string | undefined, signal: AbortSignal) => Promise<Page<Row>>;
}

/** The pages of a list, for who asks for the first of them before the list is there. */
export function listQuery<Row>({ queryKey, load }: ListSource<Row>) {
  return infiniteQueryOptions({
    queryKey,
    queryFn: ({ pageParam, signal }) => load(pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next ?? undefined,
  });
}
