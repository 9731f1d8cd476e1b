import { useQueryClient } from '@tanstack/react-query';

/**
 * Returns a function to call after an operator's action on an eligibility record. The function refetches the candidate,
 * and the lists of records that wait for a decision.
 */
export function useDecided(): () => Promise<unknown> {
  const queries = useQueryClient();
  return () =>
    Promise.all(['candidate', 'waiting', 'overview'].map((name) => queries.invalidateQueries({ queryKey: [name] })));
}
