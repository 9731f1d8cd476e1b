import { MutationCache, QueryClient } from '@tanstack/react-query';
import { toast } from './components/toast';
import { isPassing } from './api/problem';

/** The queries to the service, by key. */
export const queries = new QueryClient({
  mutationCache: new MutationCache({ onError: (error) => toast(error.message, 'bad') }),
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // Long enough that "back" finds the list as it was, and its place in it.
      gcTime: 15 * 60_000,
      refetchOnWindowFocus: false,
      retry: (failures, error) => failures < 2 && isPassing(error),
    },
  },
});
