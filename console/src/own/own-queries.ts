import { queryOptions, useQuery } from '@tanstack/react-query';
import { api, dataOf } from '../api/client';
import type { Option } from '../components/fields';
import { partnerTitle } from '../partners/partner-name';

/**
 * The interval, in milliseconds, at which the pages for partners are refreshed. Only the pages for operators receive
 * live updates.
 */
const REFRESH_MS = 5000;

export const ownSubscriptionsQuery = queryOptions({
  queryKey: ['own', 'subscriptions'],
  queryFn: ({ signal }) => dataOf(api.GET('/partner/subscriptions', { params: { query: { limit: 200 } }, signal })),
});

/** Returns the partner's own subscriptions as options of a field. */
export function useOwnSubscriptionOptions(): readonly Option[] {
  const { data = [] } = useQuery(ownSubscriptionsQuery);
  return data.map(({ id, name, partner_url }): Option => [id, partnerTitle({ subscription_name: name, partner_url })]);
}

export function ownSubscriptionQuery(id: string) {
  return queryOptions({
    queryKey: ['own', 'subscriptions', id],
    queryFn: ({ signal }) => dataOf(api.GET('/partner/subscriptions/{id}', { params: { path: { id } }, signal })),
    refetchInterval: REFRESH_MS,
  });
}

export function ownNotificationQuery(id: string) {
  return queryOptions({
    queryKey: ['own', 'notifications', 'one', id],
    queryFn: ({ signal }) => dataOf(api.GET('/partner/notifications/{id}', { params: { path: { id } }, signal })),
    refetchInterval: ({ state }) => (state.data?.state === 'PENDING' ? 1000 : REFRESH_MS),
  });
}

export function ownJobQuery(id: string) {
  return queryOptions({
    queryKey: ['own', 'jobs', id],
    queryFn: ({ signal }) => dataOf(api.GET('/partner/jobs/{job_id}', { params: { path: { job_id: id } }, signal })),
    refetchInterval: ({ state }) => (state.data?.state === 'DONE' || state.data?.state === 'ABORTED' ? false : 1000),
  });
}
