import { queryOptions } from '@tanstack/react-query';
import { api, dataOf } from '../api/client';

export function subscriptionQuery(id: string) {
  return queryOptions({
    queryKey: ['subscriptions', id],
    queryFn: ({ signal }) => dataOf(api.GET('/admin/subscriptions/{id}', { params: { path: { id } }, signal })),
  });
}

export function statisticsQuery(id: string) {
  return queryOptions({
    queryKey: ['subscriptions', id, 'statistics'],
    queryFn: ({ signal }) =>
      dataOf(api.GET('/admin/subscriptions/{id}/statistics', { params: { path: { id } }, signal })),
  });
}
