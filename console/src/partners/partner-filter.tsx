import { queryOptions, useQuery } from '@tanstack/react-query';
import { allOf, api, pageOf } from '../api/client';
import type { Option } from '../components/fields';
import type { Filter } from '../components/filters';
import { partnerTitle } from './partner-name';

const partnersToChoose = queryOptions({
  queryKey: ['subscriptions', 'to-choose'],
  queryFn: async ({ signal }) => {
    const all = await allOf((query) => pageOf(api.GET('/admin/subscriptions', { params: { query }, signal })));
    const titles = all.map(({ name, partner_url }) => partnerTitle({ subscription_name: name, partner_url }));
    const counts = new Map<string, number>();
    for (const title of titles) counts.set(title, (counts.get(title) ?? 0) + 1);
    // A partner may have a subscription in each of several accounts. Such subscriptions are distinguished by their
    // accounts.
    return all
      .map(({ id, account_code: account }, index): Option => {
        const title = titles[index];
        return [id, counts.get(title)! > 1 ? `${title} · ${account}` : title];
      })
      .sort(byLabel);
  },
  staleTime: 60_000,
});

const NONE: readonly Option[] = [];

/** Returns the partners, sorted by name, as options of a field. */
export function usePartnerOptions(): readonly Option[] {
  return useQuery(partnersToChoose).data ?? NONE;
}

/** Shows the name of a partner in a line of text, with its id as a tooltip. */
export function PartnerNameInline({ id }: { id: string }) {
  const name = usePartnerOptions().find(([each]) => each === id)?.[1];
  return <bdi title={id}>{name ?? id}</bdi>;
}

/** Compares two options of a filter by their labels, for sorting. */
export function byLabel([, one]: Option, [, other]: Option): number {
  return one.localeCompare(other);
}

/** The filter with which the user chooses a partner by its name. */
export const PARTNER_FILTER: Filter = { name: 'subscription_id', label: 'Partner', useOptions: usePartnerOptions };
