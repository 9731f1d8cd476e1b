import { queryOptions, useQuery } from '@tanstack/react-query';
import { api, dataOf } from '../api/client';
import type { Option } from '../components/fields';
import type { Filter } from '../components/filters';
import { partnerTitle } from './partner-name';

const MOST = 200;

const partnersToChoose = queryOptions({
  queryKey: ['subscriptions', 'to-choose'],
  queryFn: ({ signal }) => dataOf(api.GET('/admin/subscriptions', { params: { query: { limit: MOST } }, signal })),
  staleTime: 60_000,
});

/** Returns the partners, sorted by name, as options from which the user chooses one. */
export function usePartnerOptions(): readonly Option[] {
  const { data = [] } = useQuery(partnersToChoose);
  return data
    .map(({ id, name, partner_url }): Option => [id, partnerTitle({ subscription_name: name, partner_url })])
    .toSorted(byLabel);
}

/** Compares two options of a filter by their labels, for sorting. */
export function byLabel([, one]: Option, [, other]: Option): number {
  return one.localeCompare(other);
}

/** The filter with which the user chooses a partner by its name. */
export const PARTNER_FILTER: Filter = { name: 'subscription_id', label: 'Partner', useOptions: usePartnerOptions };
