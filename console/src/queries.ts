import { MutationCache, QueryClient } from '@tanstack/react-query';
import { toast } from './components/toast';
import { isWorthRepeating } from './api/problem';

/** The cache of the responses that the console has received from the service. */
export const queries = new QueryClient({
  mutationCache: new MutationCache({ onError: (error) => toast(error.message, 'bad') }),
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // Responses stay in the cache long enough for the back button to restore a list and its scroll position.
      gcTime: 15 * 60_000,
      refetchOnWindowFocus: false,
      retry: (failures, error) => failures < 2 && isWorthRepeating(error),
    },
  },
});
