import { queryOptions, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { allOf, api, pageOf } from '../api/client';
import { sessionState, useScopes } from '../api/session';
import { useStore } from '../api/store';
import type { Option } from './fields';
import type { Filter } from './filters';

/** Loads the names of all accounts, for operators. */
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

/** Returns the accounts of the operator, sorted by name, as options from which the user chooses one. */
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

/** Returns whether the names of accounts have arrived, or will not arrive soon because the request for them failed. */
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
