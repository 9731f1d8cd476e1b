import { queryOptions, useQuery } from '@tanstack/react-query';
import { api, dataOf } from '../api/client';
import type { Option } from '../components/fields';
import type { Filter } from '../components/filters';

const MOST = 200;

const partnersToChoose = queryOptions({
  queryKey: ['subscriptions', 'to-choose'],
  queryFn: ({ signal }) => dataOf(api.GET('/admin/subscriptions', { params: { query: { limit: MOST } }, signal })),
  staleTime: 60_000,
});

/** Returns the partners by name, to choose one of them. */
export function usePartnerOptions(): readonly Option[] {
  const { data = [] } = useQuery(partnersToChoose);
  return data
    .map(({ id, name, partner_url: url }): Option => [id, name === null || name === undefined ? url : name])
    .toSorted(([, one], [, other]) => one.localeCompare(other));
}

/** Chooses a partner by its name. */
export const PARTNER_FILTER: Filter = { name: 'subscription_id', label: 'Partner', useOptions: usePartnerOptions };
