import { queryOptions, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { allOf, api, pageOf } from '../api/client';
import { sessionState, useScopes } from '../api/session';
import { useStore } from '../api/store';
import type { Option } from './fields';
import type { Filter } from './filters';

/** The query for the names of all accounts. */
const accountsQuery = queryOptions({
  queryKey: ['accounts', 'names'],
  queryFn: async ({ signal }) => {
    const accounts = await allOf((query) => pageOf(api.GET('/admin/accounts', { params: { query }, signal })));
    return accounts
      .map(({ account_code: code, name }): Option => [code, name])
      .sort(([, one], [, other]) => one.localeCompare(other));
  },
  staleTime: 60_000,
});

const NONE: readonly Option[] = [];

/** Returns the accounts that the operator may see, sorted by name, as options of a field. */
export function useAccountOptions(): readonly Option[] {
  const isAdmin = useScopes().includes('admin');
  const { data = NONE } = useQuery({ ...accountsQuery, enabled: isAdmin });
  const state = useStore(sessionState);
  const own = 'session' in state ? state.session.accounts : null;
  return useMemo(
    () => (isAdmin ? data : (own ?? []).map(({ account_code: code, name }): Option => [code, name])),
    [isAdmin, data, own],
  );
}

/**
 * Returns true when the names of accounts have arrived. Also returns true when the request for them has failed, because
 * components should then no longer wait for the names.
 */
export function useHasAccountNames(): boolean {
  const isAdmin = useScopes().includes('admin');
  const { isPending, failureCount } = useQuery({ ...accountsQuery, enabled: isAdmin });
  return !isAdmin || !isPending || failureCount > 0;
}

/** The filter with which the user chooses an account by its name or its code. */
export const ACCOUNT_FILTER: Filter = {
  name: 'account_code',
  label: 'Account',
  useOptions: useAccountOptions,
  hasCodes: true,
};
